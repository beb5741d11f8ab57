"""The rules submission: the sheet that an operator files for its site, as Markdown."""

from collections.abc import Iterator, Sequence
from fractions import Fraction

from meters.levels import contribution
from meters.money import CENT, dollars, percent
from progressive.config.checks import GROWTH_RULE
from progressive.config.tables import AT_PAYOUT, MARKED
from progressive.config.values import IN_ORDER, Link, MustHit, Site, Table
from progressive.odds_report import Royal9Report, fixed, pay_value, pct, royal9_report
from progressive.rules.baccarat import TIE
from progressive.rules.odds import wager_odds
from progressive.rules.paytables import tie_paying
from progressive.rules.royal9 import STAKE_MICROS, Fixed, Pay
from progressive.rules.rulebooks import DESIGNATIONS
from progressive.rules.settlement import HOUSE_MONEY, QUARTER, takes_vigorish
from progressive.rules.wagers import WAGERS, Wager

HANDS_DEALT = "Figures are exact, counted by enumeration, for a full shoe."


_COLLECTED = {
    AT_PAYOUT: "collected at the payout",
    MARKED: "marked and collected before the new shoe or when the player leaves",
}


def submission(site: Site) -> str:
    """Write the whole sheet; the same site always gives the same bytes."""
    return "\n".join(_sheet(site)) + "\n"


def _sheet(site: Site) -> Iterator[str]:
    book = site.rulebook
    yield f"# Rules submission: {site.name}"
    yield ""
    yield f"- Game: Midi Baccarat under {book.title}"
    yield f"- Time zone {site.time_zone}; gaming day starts at {site.gaming_day_starts:%H:%M}"
    yield f"- {HANDS_DEALT}"
    yield ""
    for link in site.links:
        yield from _link(site, link)
    yield "## Tables"
    yield ""
    for table in site.tables:
        yield from _table(table)
    yield from _edges(site)
    yield from _tax(site)


def _link(site: Site, link: Link) -> Iterator[str]:
    tables = site.tables_of(link.name)
    yield f"## Link {link.name}: Royal 9, paytable {link.paytable_name}"
    yield ""
    yield f"- Edition: {link.paytable.edition}; {link.decks} decks; rule {link.paytable.rule}"
    yield f"- Tables: {', '.join(table.name for table in tables)}"
    yield f"- Wager: {dollars(STAKE_MICROS)}, one a seat, open only to a seat with a main wager"
    yield "- Pays are for one: the wager is not returned on top; only the highest line is paid"
    yield f"- Simultaneous wins: {_simultaneous(link)}"
    yield "- Fractions of a cent are kept on the meter; whole cents are paid"
    yield ""
    yield from _levels(link)
    if link.must_hit is not None:
        yield from _must_hit(link.must_hit, tables)
    groups: dict[int, list[str]] = {}
    for table in tables:
        groups.setdefault(table.seats, []).append(table.name)
    for names in groups.values():
        sample = next(table for table in tables if table.name == names[0])
        yield from _odds(_report(link, sample), names)


def _simultaneous(link: Link) -> str:
    if link.simultaneous.rule == IN_ORDER:
        return (
            "decided in the order of the journal; the first takes the meter, a later one the "
            "reset value and what was added since"
        )
    return (
        f"within {link.simultaneous.within_seconds} seconds of a level's first 100 % award, a "
        "later winner takes the meter as usual and the house adds up to the first's amount "
        "(not Must Hit)"
    )


def _table_of(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(row) + " |"
    yield ""


def _levels(link: Link) -> Iterator[str]:
    yield "### Meters"
    yield ""
    head = ("level", "seed", "reset", "increment", "reserve", "limit", "unreasonable contribution")
    yield from _table_of(
        head,
        [
            (
                level.name,
                dollars(level.seed_micros),
                dollars(level.reset_micros),
                percent(level.increment_ppm),
                percent(level.reserve_ppm),
                "none" if level.limit_micros is None else dollars(level.limit_micros),
                f"above {dollars(level.contribution_max_micros)} a lock",
            )
            for level in link.all_levels
        ],
    )
    total = sum(level.increment_ppm + level.reserve_ppm for level in link.all_levels)
    yield f"Increments and reserves take {percent(total)} of each wager. A reserve pays toward the"
    yield "next reset before the house does."
    yield ""


def _must_hit(must_hit: MustHit, tables: Sequence[Table]) -> Iterator[str]:
    level = must_hit.level
    seats = sum(table.seats for table in tables)
    growth = seats * contribution(STAKE_MICROS, level.increment_ppm)
    yield "### Must Hit"
    yield ""
    yield f"- Reset {dollars(level.reset_micros)}, maximum {dollars(must_hit.maximum_micros)}"
    yield f"- Trigger: one whole cent above the opening value, {_distribution(must_hit)}"
    yield "- When a round ends and its own meter value has reached the trigger, one of its Royal 9"
    yield "  bettors, each as likely, takes that value in whole cents"
    yield "- Wagers locked after the winning round could not win that cycle; what they added opens"
    yield f"  the next one, at most {dollars(CENT)} below the maximum, and the rest waits"
    yield f"- {GROWTH_RULE}: one full lock at every table ({seats} seats) adds {dollars(growth)}"
    yield ""


def _distribution(must_hit: MustHit) -> str:
    distribution = must_hit.distribution
    name = f"`{distribution.name}` version {distribution.version}"
    if distribution.name == "uniform":
        return f"all alike ({name})"
    parts = (f"up to {dollars(s.upto_micros)} weight {s.weight}" for s in distribution.segments)
    return f"by segments: {', '.join(parts)} ({name})"


def _report(link: Link, table: Table) -> Royal9Report:
    must_hit = link.must_hit.terms if link.must_hit else None
    seating = table.seating(link.paytable)
    return royal9_report(link.paytable, seating, link.decks, link.terms, must_hit)


def _odds(report: Royal9Report, tables: Sequence[str]) -> Iterator[str]:
    odds, returns = report.odds, report.returns
    seats = len(report.seating.combinations)
    yield f"### Exact odds with {seats} seats (tables {', '.join(tables)})"
    yield ""
    yield f"Of {odds.total:,} deals of two hands of two cards, for one seat:"
    yield ""
    yield from _table_of(
        ("line", "ways", "one in", "pays", "return at the seeds"),
        [
            (
                line,
                f"{ways:,}",
                fixed(Fraction(odds.total, ways), 2) if ways else "never",
                _pay_text(report.paytable.pays.get(line)),
                pct(
                    pay_value(report.paytable.pays.get(line), report.levels)
                    * odds.probability(line)
                    / STAKE_MICROS
                ),
            )
            for line, ways in odds.ways.items()
        ],
    )
    yield f"- Return at the seeds {pct(returns.at_seeds)}"
    yield f"- House edge at the seeds {pct(returns.house_edge_at_seeds)}"
    if returns.must_hit is not None and returns.must_hit_wagers is not None:
        wagers = fixed(returns.must_hit_wagers, 1)
        yield f"- Must Hit returns {pct(returns.must_hit)}, one award in {wagers} wagers"
    if returns.long_run is not None:
        yield f"- Long-run return {pct(returns.long_run)}, house edge {pct(1 - returns.long_run)}"
    for name, level in returns.levels.items():
        yield (
            f"- {name}: one win in {round(level.wagers_between_hits):,} wagers; expected meter at "
            f"a win {_money(level.meter_at_hit_micros)}; breaks even at "
            f"{_money(level.break_even_micros)}"
        )
    yield "- Breaks even: with the other meters at their seeds, Must Hit not counted"
    yield ""


def _money(micros: Fraction | None) -> str:
    return "-" if micros is None else dollars(round(micros / CENT) * CENT)


def _pay_text(pay: Pay | None) -> str:
    if pay is None:
        return "-"
    if isinstance(pay, Fixed):
        return dollars(pay.amount_micros)
    return f"{pay.percent} % of {pay.level}"


def _table(table: Table) -> Iterator[str]:
    yield f"### {table.name} (asset {table.asset})"
    yield ""
    yield f"- {table.kind}; {table.seats} seats; {table.decks} decks; {_designation(table)}"
    if table.link is not None:
        combinations = (f"{n} {mine}" for n, mine in enumerate(table.combinations, start=1))
        yield f"- Royal 9 on link {table.link}; combinations: {', '.join(combinations)}"
    yield f"- A disclosed card that neither hand may take: {_disclosed(table)}"
    if any(offered.name == HOUSE_MONEY for offered in table.wagers):
        portion = percent(table.house_money_portion_ppm)
        yield f"- House Money: up to {portion} of a payout may be added to Banker or Player"
    yield ""
    yield from _table_of(
        ("wager", "paytable", "from", "to"),
        [
            (
                WAGERS[offered.name].title,
                offered.paytable,
                "-" if offered.min_micros is None else dollars(offered.min_micros),
                "-" if offered.max_micros is None else dollars(offered.max_micros),
            )
            for offered in table.wagers
        ],
    )


def _designation(table: Table) -> str:
    text = DESIGNATIONS[table.designation]
    if not takes_vigorish(table.designation):
        return text
    rounding = "rounded up to the next 25 cents" if table.vigorish == QUARTER else "exact"
    return f"{text}, {rounding}, {_COLLECTED[table.vigorish_collected]}"


def _disclosed(table: Table) -> str:
    if table.disclosed_card.value == "discard":
        return "discarded with one more unseen card"
    return "first card of a simulated round"


def _edges(site: Site) -> Iterator[str]:
    rows: dict[tuple[str, ...], None] = {}
    for table in site.tables:
        for offered in table.wagers:
            rows |= dict.fromkeys(_edge_rows(WAGERS[offered.name], offered.paytable, table))
    yield "## House edge of the wagers offered"
    yield ""
    yield from _table_of(("wager", "paytable", "decks", "pays to 1", "house edge"), list(rows))
    if any(takes_vigorish(table.designation) for table in site.tables):
        yield "Banker is worked out with vigorish of exactly 5 %; where it is rounded up, the house"
        yield "keeps more of small wagers."
        yield ""


def _edge_rows(wager: Wager, name: str, table: Table) -> Iterator[tuple[str, ...]]:
    paytable = tie_paying(table.tie_pays) if wager.name == TIE else wager.paytables[name]
    pays = ", ".join(f"{line} {'push' if pay == 0 else pay}" for line, pay in paytable.pays.items())
    for on in ("player", "banker") if wager.side == "chosen" else (None,):
        edge = wager_odds(wager, paytable, table.decks, on).house_edge
        title = f"{wager.title} on {on}" if on else wager.title
        yield title, paytable.name, str(table.decks), pays, pct(edge)


def _tax(site: Site) -> Iterator[str]:
    if not site.tax_thresholds:
        return
    yield "## Tax thresholds (winnings net of the wager)"
    yield ""
    yield from _table_of(
        ("from", "reported at", "and times the wager", "withheld above"),
        [
            (
                str(tax.starts),
                dollars(tax.report_micros),
                str(tax.times_wager),
                "-" if tax.withhold_above_micros is None else dollars(tax.withhold_above_micros),
            )
            for tax in site.tax_thresholds
        ],
    )
