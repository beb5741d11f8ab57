"""Reading a table: where it stands, its seats and combinations, and the wagers it takes."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from meters.money import PPM, dollars
from progressive.config.links import LinkDraft, decks_allowed
from progressive.config.reader import Section, guess
from progressive.config.values import OfferedWager, Table
from progressive.rules.irregularities import DisclosedCard
from progressive.rules.royal9 import (
    DEFAULT_COMBINATIONS,
    Combination,
    Seating,
    SeatingError,
    combination,
    seating_of,
)
from progressive.rules.rulebooks import (
    DESIGNATIONS,
    KINDS,
    ONLY_AT,
    RULEBOOKS,
    SEATS_MAX,
    STANDARD,
    Rulebook,
)
from progressive.rules.settlement import (
    EXACT,
    QUARTER,
    TIE_PAYS_MAX,
    TIE_PAYS_MIN,
    takes_vigorish,
)
from progressive.rules.wagers import WAGERS

ASSET = r"\S(.{0,30}\S)?"
MAIN_WAGERS = ("banker", "player", "tie")
COMBINATIONS = 'a table of seats, such as { 1 = "K♠ 9♥", 2 = "K♣ 9♦" }'
AT_PAYOUT, MARKED = "at_payout", "marked"
TIE_PAYS = range(TIE_PAYS_MIN, TIE_PAYS_MAX + 1)


@dataclass(frozen=True, slots=True)
class TableDraft:
    """A table as far as it could be read."""

    section: Section
    link: LinkDraft | None
    asset: str | None
    seats: int | None
    table: Table | None


def read_table(
    name: str, section: Section, links: Mapping[str, LinkDraft], book: Rulebook | None
) -> TableDraft:
    """Read one table and check it against its link and its rulebook."""
    asset = section.text("asset", "an asset number of 1 to 32 characters", ASSET)
    kind = section.choice(
        "kind", book.kinds if book else KINDS, book.section("seats") if book else "site file"
    )
    link_name, link = _link(section, links)
    seats = _seats(section, link, book)
    decks = _decks(section, link, book)
    combinations = _combinations(section, link, seats)
    designation = _designation(section, book)
    vigorish, collected = _vigorish(section, designation, book)
    choices = [choice.value for choice in DisclosedCard]
    disclosed = section.choice("disclosed_card", choices, default=DisclosedCard.DISCARD.value)
    offered = _wagers(section, designation, book)
    section.done()
    table = None
    needed = (asset, kind, seats, decks, combinations, designation, disclosed, offered)
    if all(part is not None for part in needed) and (link is None or link_name in links):
        table = Table(
            name=name,
            asset=asset or "",
            kind=kind or "",
            link=link_name,
            decks=decks or 0,
            seats=seats or 0,
            combinations=combinations or (),
            designation=designation or "",
            vigorish=vigorish,
            vigorish_collected=collected,
            tie_pays=offered.tie_pays if offered else 0,
            house_money_portion_ppm=offered.house_money_portion_ppm if offered else 0,
            disclosed_card=DisclosedCard(disclosed or ""),
            wagers=offered.wagers if offered else (),
        )
    return TableDraft(section, link, asset, seats, table)


def _link(section: Section, links: Mapping[str, LinkDraft]) -> tuple[str | None, LinkDraft | None]:
    if "link" not in section:
        section.asked.add("link")
        return None, None
    if not links:
        section.asked.add("link")
        section.note("link", "the file has no such link", "a table [links.NAME...], or no link")
        return None, None
    name = section.choice("link", tuple(links))
    return name, links.get(name or "")


def _seats(section: Section, link: LinkDraft | None, book: Rulebook | None) -> int | None:
    paytable = link.paytable if link else None
    if paytable is not None and len(paytable.seats) < SEATS_MAX:
        return section.integer("seats", paytable.seats, paytable.rule)
    rule = book.section("seats") if book else "Midi Baccarat"
    return section.integer("seats", range(1, SEATS_MAX + 1), rule)


def _decks(section: Section, link: LinkDraft | None, book: Rulebook | None) -> int | None:
    if link is None and "link" not in section:
        return section.integer("decks", *decks_allowed(None, book))
    if "decks" in section:
        section.asked.add("decks")
        section.note("decks", "is said by the link", "only at a table without a link")
    return link.decks if link else None


def _combinations(
    section: Section, link: LinkDraft | None, seats: int | None
) -> tuple[Combination, ...] | None:
    given = section.section("combinations", needed=False)
    if link is None:
        if given is not None and "link" not in section:
            what = "has no meaning without a link"
            section.note("combinations", what, "only at a table with a link")
        return ()
    own = _own_combinations(given, seats) if given else {}
    if own is None or seats is None or link.paytable is None:
        return None
    try:
        seating = seating_of(link.paytable, seats, own)
    except SeatingError as error:
        section.note("combinations", str(error), COMBINATIONS, link.paytable.rule)
        return None
    if link.paytable.fixed_combinations and not _is_default(seating):
        section.note(
            "combinations",
            f"{link.paytable.name} prints the combinations of its chairs",
            "none of the table's own",
            link.paytable.rule,
        )
        return None
    return seating.combinations


def _is_default(seating: Seating) -> bool:
    return seating.combinations == DEFAULT_COMBINATIONS[: len(seating.combinations)]


def _own_combinations(given: Section, seats: int | None) -> dict[int, Combination] | None:
    own: dict[int, Combination] = {}
    bad = False
    for key in given.values:
        text = given.value(key, str, COMBINATIONS)
        if not re.fullmatch("[1-9]", key) or int(key) > (seats or SEATS_MAX):
            given.note(key, "the table has no such seat", f"seats 1 to {seats or SEATS_MAX}")
            bad = True
        elif text is None:
            bad = True
        else:
            try:
                own[int(key)] = combination(text)
            except SeatingError as error:
                given.note(key, str(error), "a king and a nine of different suits", "Royal 9")
                bad = True
    return None if bad else own


def _designation(section: Section, book: Rulebook | None) -> str | None:
    if book is None:
        return section.choice("designation", tuple(DESIGNATIONS), default=STANDARD)
    rule = book.section("designation")
    return section.choice("designation", book.designations, rule, default=book.designation)


def _vigorish(section: Section, designation: str | None, book: Rulebook | None) -> tuple[str, str]:
    if designation is None or takes_vigorish(designation):
        rounding = section.choice("vigorish", (EXACT, QUARTER), default=EXACT)
        collected = section.choice("vigorish_collected", (AT_PAYOUT, MARKED), default=AT_PAYOUT)
        return rounding or EXACT, collected or AT_PAYOUT
    for key in ("vigorish", "vigorish_collected"):
        section.asked.add(key)
        if key in section:
            what = f"no vigorish is taken at a table designated {designation}"
            section.note(key, what, "leave it out", book.section("vigorish") if book else key)
    return EXACT, AT_PAYOUT


@dataclass(frozen=True, slots=True)
class _Offered:
    wagers: tuple[OfferedWager, ...]
    tie_pays: int
    house_money_portion_ppm: int


def _wagers(section: Section, designation: str | None, book: Rulebook | None) -> _Offered | None:
    """Read the wagers offered; the main ones always are, and may be listed for their limits."""
    given = section.section("wagers", needed=False)
    before = section.problems.errors
    tie_pays, portion = TIE_PAYS_MIN, PPM
    offered: dict[str, OfferedWager] = {}
    for name in given.values if given else ():
        if given and name not in WAGERS:
            _note_unknown(given, name, book)
            continue
        entry = given.section(name) if given else None
        if entry is None:
            continue
        if name == "tie":
            tie_pays = _tie_pays(entry, book)
        if name == "house_money":
            portion = entry.rate("portion", needed=False) or portion
        offered[name] = _offered_wager(entry, name, designation or STANDARD, book)
        _check_place(entry, name, designation, book)
        entry.done()
    for name in MAIN_WAGERS:
        paytable = designation or STANDARD if name == "banker" else STANDARD
        offered.setdefault(name, _by_book(name, paytable, None, None, book))
    if section.problems.errors > before:
        return None
    return _Offered(tuple(offered[name] for name in WAGERS if name in offered), tie_pays, portion)


def _tie_pays(entry: Section, book: Rulebook | None) -> int:
    allowed = TIE_PAYS if book is None or book.tie_may_pay_more else (TIE_PAYS_MIN,)
    rule = book.section("tie") if book else "Tie"
    return entry.integer("pays", allowed, rule, default=TIE_PAYS_MIN) or TIE_PAYS_MIN


def _note_unknown(given: Section, name: str, book: Rulebook | None) -> None:
    if name == "royal_9":
        given.note(name, "Royal 9 is offered by naming a link", 'link = "..." at the table')
        return
    known = [wager for wager in WAGERS if book is None or wager in book.wagers]
    what = f"there is no such wager{guess(name, known)}"
    given.note(name, what, "one of " + ", ".join(known))


def _offered_wager(
    entry: Section, name: str, designation: str, book: Rulebook | None
) -> OfferedWager:
    wager = WAGERS[name]
    tables = tuple(wager.paytables)
    rule = book.section("wagers") if book else "wagers"
    if name == "any_pair" and book is not None and book.any_pair_paytable is not None:
        tables = (book.any_pair_paytable,)
    paytable: str | None = designation
    if name != "banker":  # whose paytable is its table's designation
        default = tables[0] if len(tables) == 1 or not _is_of(book, name) else None
        paytable = entry.choice("paytable", tables, rule, default=default)
    least, most = entry.money("min", needed=False), entry.money("max", needed=False)
    if least is not None and most is not None and least > most:
        entry.note("min", f"{dollars(least)} is more than the maximum", f"up to {dollars(most)}")
    _check_limits(entry, name, {"min": least, "max": most}, book)
    return _by_book(name, paytable or "", least, most, book)


def _is_of(book: Rulebook | None, name: str) -> bool:
    return book is None or name in book.wagers


def _by_book(
    name: str, paytable: str, least: int | None, most: int | None, book: Rulebook | None
) -> OfferedWager:
    low, high = book.limits.get(name, (None, None)) if book else (None, None)
    return OfferedWager(
        name, paytable, low if least is None else least, high if most is None else most
    )


def _check_limits(
    entry: Section, name: str, given: Mapping[str, int | None], book: Rulebook | None
) -> None:
    if book is None or name not in book.limits:
        return
    low, high = book.limits[name]
    for key, amount in given.items():
        if amount is not None and not low <= amount <= high:
            what = f"{dollars(amount)} is outside the rulebook's limits"
            entry.note(key, what, f"{dollars(low)} to {dollars(high)}", book.section("limits"))


def _check_place(entry: Section, name: str, designation: str | None, book: Rulebook | None) -> None:
    """Check a wager against the table's designation and the jurisdiction."""
    if book is not None and name not in book.wagers:
        where = [other.name for other in RULEBOOKS.values() if name in other.wagers]
        entry.note(
            None,
            f"{WAGERS[name].title} is not a wager of {book.name} (it is of {', '.join(where)})",
            "one of " + ", ".join(w for w in WAGERS if w in book.wagers),
            book.section("wagers"),
        )
    needs = ONLY_AT.get(name)
    if designation is not None and needs not in (None, designation):
        entry.note(
            None,
            f"{WAGERS[name].title} is not taken at a table designated {designation}",
            f"only at a table designated {needs}",
            book.section("designation") if book else "table designations",
        )
