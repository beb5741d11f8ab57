"""Journals with every kind of entry: played on a real server, then written into log folders."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final, cast, get_args

import msgspec
from floor import level, usd
from redis import Redis

from meters.calls import CardSaid, Message
from meters.definitions import LinePay, LinkDefinition, TableDefinition, Terms
from meters.entries import AnyEntry
from meters.errors import Refused
from meters.functions import ensure_loaded
from meters.levels import Level
from meters.link import Meters
from meters.site import SiteJournal
from meters.state import Award, Table
from progressive.audit import writer
from progressive.audit.checkpoint import Cosigner
from progressive.audit.note import Signer
from progressive.audit.writer import LogWriter
from progressive.controller import Controller
from progressive.devices import Devices, Kind
from progressive.draws import must_hit
from progressive.draws.process import process_drbg
from progressive.draws.vault import Vault, make
from progressive.people.approvals import Approvals, Wish
from progressive.people.roles import Role
from progressive.people.sessions import Sessions
from progressive.people.users import Users
from progressive.rules.cards import ALL_CARDS, Hand, hand
from progressive.rules.royal9 import DEFAULT_COMBINATIONS, PAYTABLES, STAKE_MICROS, Fixed
from progressive.rules.rulebooks import RULEBOOKS

ROYAL_SIGNER: Final = Signer("floor.example/royal", bytes(32))
MULTI_SIGNER: Final = Signer("floor.example/multi", bytes([1] * 32))
SITE_SIGNER: Final = Signer("floor.example/site", bytes([2] * 32))
COSIGNER: Final = Cosigner("witness.example/cage", bytes([3] * 32))
SEATS: Final = 7
BATCH: Final = 1000  # entries a checkpoint
LOSS: Final = (hand("2♠ 3♥"), hand("4♣ 6♦"))
STAR: Final = (hand("K♠ 9♥"), hand("9♥ K♠"))  # seat 1's own
ALL_KINDS: Final = frozenset(get_args(AnyEntry))


def must_hit_level(maximum: str = "6.00", segments: Sequence[tuple[str, int]] = ()) -> Level:
    """Make a Must Hit level that is won every few rounds."""
    uptos = [[usd(upto), weight] for upto, weight in segments] or [[usd(maximum), 1]]
    name = "segments" if segments else "uniform"
    made = level("must_hit", "2.00", 40_000, reserve_ppm=1_000, maximum=maximum)
    body = {"name": name, "version": 1, "segments": uptos}
    return Level(*(*(getattr(made, part) for part in LEVEL_PARTS), usd(maximum), body))


LEVEL_PARTS = (
    "name", "seed_micros", "reset_micros", "increment_ppm", "reserve_ppm", "limit_micros",
    "contribution_max_micros",
)  # fmt: skip
CARD_LEVELS: Final = (
    level("star", "100.00", 90_000, reserve_ppm=30_000, limit="112.00"),
    level("spade", "20.00", 50_002, reserve_ppm=10_000),
    level("heart", "20.00", 50_000),
)


def terms_of(paytable: str, **changed: int) -> Terms:
    """Give a link's terms under one of the rulebooks' paytables."""
    pays = PAYTABLES[paytable].pays
    amounts = {
        "hand_pay_above_micros": usd("1000.00"),
        "two_person_above_micros": usd("105.00"),
        "simultaneous_seconds": 0,
        **changed,
    }
    return Terms(
        paytable=paytable,
        stake_micros=STAKE_MICROS,
        lines={
            line: LinePay(amount_micros=pay.amount_micros)
            if isinstance(pay, Fixed)
            else LinePay(pay.level, pay.percent)
            for line, pay in pays.items()
        },
        **amounts,
    )


def table_of(name: str, kind: str = "live", *, first: int = 0, decks: int = 8) -> TableDefinition:
    """Make a table whose seat 1 has the default combination at place `first`."""
    order = [*DEFAULT_COMBINATIONS[first:], *DEFAULT_COMBINATIONS[:first]][:SEATS]
    own = [f"K{one.face_suit}9{one.nine_suit}" for one in order]
    return TableDefinition(name, f"A-{name}", kind, SEATS, decks, own)


def royal_link(
    levels: Sequence[Level] | None = None, tables: int = 2, **terms: int
) -> LinkDefinition:
    """Make a King-9 link with Must Hit: live tables T1, T2 ... and an automated one, A1."""
    chosen = [*CARD_LEVELS, must_hit_level()] if levels is None else list(levels)
    named = [table_of(f"T{number}") for number in range(1, tables + 1)]
    return LinkDefinition(
        link="royal",
        terms=terms_of("MD-C", **terms),
        levels=chosen,
        tables=[*named, table_of("A1", "automated")],
    )


def multi_link() -> LinkDefinition:
    """Make a Multi-Level link without Must Hit."""
    tables = [table_of("M1"), table_of("M2")]
    return LinkDefinition(
        link="multi", terms=terms_of("MD-B"), levels=list(CARD_LEVELS), tables=tables
    )


@dataclass
class Play:
    """A link at play: rounds and device sequences are kept, people are named."""

    controller: Controller
    rounds: Counter[str] = field(default_factory=Counter)
    sequences: Counter[str] = field(default_factory=Counter)
    shoes: Counter[str] = field(default_factory=Counter)
    proposals: int = 0

    @property
    def meters(self) -> Meters:
        return self.controller.meters

    def at(self, table: str) -> int:
        return self.rounds[table] + 1

    def bet(self, table: str, seats: Iterable[int], round_: int | None = None) -> None:
        self.sequences[table] += 1
        said = Message(
            table=table,
            device=f"hub-{table}",
            epoch=1,
            sequence=self.sequences[table],
            round=self.at(table) if round_ is None else round_,
            seats=list(seats),
        )
        [answer] = self.controller.report([said])
        assert not isinstance(answer, Refused), answer

    def read_card(self, table: str, card: str) -> None:
        """Have the table's shoe reader see a card."""
        device = f"shoe-{table}"
        self.sequences[device] += 1
        said = CardSaid(
            table=table,
            device=device,
            epoch=1,
            sequence=self.sequences[device],
            round=self.at(table),
            card=card,
        )
        self.meters.run(self.meters.calls.card(said))

    def lock(self, table: str, seats: Sequence[int], kind: str = "played") -> None:
        if seats:
            self.bet(table, seats)
        self.controller.lock(table, self.at(table), seats, "dealer", kind)

    def deal(self, table: str, cards: tuple[Hand, Hand]) -> None:
        self.controller.deal(table, self.at(table), *cards, "dealer")

    def correct(self, table: str, number: int, cards: tuple[Hand, Hand]) -> None:
        player, banker = cards
        self.controller.correct(
            table, self.at(table), number, player=player, banker=banker, by="sue"
        )

    def end(self, table: str, more: str = "") -> None:
        self.controller.end(table, self.at(table), "dealer", more)
        self.rounds[table] += 1

    def void(self, table: str) -> None:
        self.meters.run(self.meters.calls.void(table, self.at(table), "sue", "misdeal"))
        self.rounds[table] += 1

    def cancel(self, table: str) -> None:
        self.meters.run(self.meters.calls.cancel(table, self.at(table), "dealer", "no players"))
        self.rounds[table] += 1

    def play(self, table: str, seats: Sequence[int], cards: tuple[Hand, Hand] = LOSS) -> None:
        """Play a whole round."""
        self.lock(table, seats)
        self.deal(table, cards)
        self.end(table)

    def play_automated(self, table: str, seats: Sequence[int]) -> None:
        """Play a whole round with the controller's own cards."""
        self.lock(table, seats)
        played = self.controller.draw_round(table)
        self.deal(table, (played.player[:2], played.banker[:2]))
        self.end(table, "".join(played.player[2:] + played.banker[2:]))

    def new_shoe(self, table: str) -> None:
        self.shoes[table] += 1
        self.controller.new_shoe(table, self.shoes[table], "dealer")

    def propose(self, what: str, body: Mapping[str, Any]) -> int:
        self.proposals += 1
        calls = self.meters.calls
        self.meters.run(calls.propose(self.proposals, "ann", what, 'as "agreed"', body))
        return self.proposals

    def carry_out(
        self,
        what: str,
        body: Mapping[str, Any],
        tables: Iterable[str] = (),
        revealed: Mapping[str, Any] | None = None,
    ) -> None:
        """Have two persons carry something out."""
        number = self.propose(what, body)
        self.meters.run(self.meters.calls.approve(number, "bob", tables, revealed))

    def doors(self, *, opened: bool) -> None:
        """Open or close every table."""
        calls = self.meters.calls
        verb = calls.open_table if opened else calls.close_table
        for table in self.meters.tables():
            self.meters.run(verb(table, "sue", "shift"))

    def balance(self) -> None:
        self.meters.run(self.meters.calls.balance(self.meters.tables(), "jobs"))

    def pending(self) -> list[Award]:
        return self.meters.snapshot().awards

    def settle(self, award: Award) -> None:
        """Pay an award by as many persons as it needs, once its round is over."""
        if not award.over:
            return
        if award.amount > self.meters.snapshot().terms.two_person_above_micros:
            self.carry_out("pay", {"award": award.award})
        else:
            self.meters.run(self.meters.calls.pay(award.award, "sue"))

    def lines(self) -> list[bytes]:
        """Give the journal."""
        return [line.encode() for _, line in self.meters.journal(1)]

    def secrets(self) -> dict[str, dict[str, str]]:
        """Open the secrets of the open cycle and the next, as a decommission reveals them."""
        shown = {}
        kept = self.meters.client.hgetall(self.meters.calls.keys.secrets)
        for number, sealed in cast("dict[str, str]", kept).items():
            if number.isdigit():
                cycle = must_hit.Cycle(self.meters.link, "must_hit", int(number))
                secret = self.controller.vault.open_(sealed, must_hit.seal_context(cycle))
                shown[number] = dict(zip(("secret", "salt"), secret.reveal(), strict=True))
        return shown


def open_play(
    client: Redis,
    vault: Vault,
    definition: LinkDefinition,
    kind: Callable[..., Controller] = Controller,
) -> Play:
    """Open a link on a server, under a controller of any kind."""
    meters = Meters(client, definition.link)
    controller = kind(meters, vault, process_drbg(), RULEBOOKS["MD"])
    controller.open_link(definition, "admin")
    return Play(controller)


def play_everything(client: Redis, folder: Path) -> tuple[Play, Play]:
    """Play every kind of entry and of proposal on two links; gives the King-9 one first."""
    ensure_loaded(client)
    vault = make(folder / "draws.key", cycle_open=False)
    royal = open_play(client, vault, royal_link(simultaneous_seconds=3600))
    multi = open_play(client, vault, multi_link())
    for scene in (_wagers, _lines, _corrections, _cards, _cycles, _persons):
        scene(royal)
    _levels(royal, multi)
    _multi_level(multi)
    _last(royal, multi)
    return royal, multi


def _wagers(royal: Play) -> None:
    """Wagers placed, withdrawn and late; rounds that are free, void or given up."""
    royal.bet("T1", [1, 2, 3])
    royal.bet("T1", [1, 3])
    royal.controller.lock("T1", 1, [1, 3], "dealer")
    royal.bet("T1", [1, 3, 5])
    royal.deal("T1", LOSS)
    royal.end("T1", "5D7C")
    royal.bet("T1", [2, 3], round_=1)
    royal.lock("T2", [], "free")
    royal.deal("T2", LOSS)
    royal.end("T2")
    royal.bet("T2", [4])
    royal.cancel("T2")
    royal.lock("T2", [4, 5])
    royal.void("T2")
    royal.lock("T2", [1, 2])
    royal.deal("T2", (hand("K♠ 9♥"), hand("2♣ 3♣")))
    royal.void("T2")


def _lines(royal: Play) -> None:
    """Every line of the King-9 edition."""
    royal.new_shoe("T1")
    for player, banker in (
        ("K♠ 9♥", "K♠ 9♥"),
        ("2♠ 3♠", "9♥ K♠"),
        ("K♠ 9♦", "7♠ A♠"),
        ("J♠ 9♠", "Q♥ 9♥"),
        ("J♠ 9♥", "Q♥ 9♥"),
        ("J♠ 9♠", "2♥ 3♥"),
        ("T♠ 2♠", "Q♥ 9♣"),
    ):
        royal.play("T1", [1, 2, 6], (hand(player), hand(banker)))
    for award in royal.pending():
        royal.settle(award)


def _corrections(royal: Play) -> None:
    """Stars that were misread, with a later winner who is paid and one who is not."""
    for settled in (False, True):
        for table in ("T1", "T2"):
            royal.lock(table, [1, 4])
            royal.deal(table, STAR)
        royal.end("T2")
        if settled:
            for award in royal.pending():
                royal.settle(award)
        royal.correct("T1", 1, (hand("K♠ 9♥"), hand("9♦ K♠")))
        royal.correct("T1", 2, LOSS)
        royal.end("T1", "8H")
    royal.lock("T1", [1])
    royal.deal("T1", (hand("K♠ 9♥"), hand("2♣ 3♣")))
    royal.correct("T1", 1, (hand("2♣ 3♣"), hand("K♠ 9♥")))
    royal.end("T1")


def _cards(royal: Play) -> None:
    """Live and automated shoes."""
    royal.new_shoe("T2")
    royal.lock("T2", [2, 3])
    for card in ("2S", "4C", "3H", "6D", "5D"):
        royal.read_card("T2", card)
    royal.deal("T2", LOSS)
    royal.read_card("T2", "7C")
    royal.balance()
    royal.end("T2", "5D7C")
    royal.new_shoe("A1")
    for number in range(6):
        royal.play_automated("A1", [1, 2, 3][: number % 4])
    royal.lock("A1", [2])
    royal.void("A1")
    royal.lock("A1", [])
    played = royal.controller.draw_round("A1")
    royal.deal("A1", (played.player[:2], played.banker[:2]))
    royal.void("A1")
    royal.play_automated("A1", [])
    royal.new_shoe("A1")
    royal.play_automated("A1", [5])
    royal.balance()


def _cycles(royal: Play) -> None:
    """Must Hit again and again, with rounds that overlap, and a void in between."""
    for number in range(14):
        if number % 5 == 0:
            royal.new_shoe("T1")
            royal.new_shoe("T2")
        for table in ("T1", "T2"):
            royal.lock(table, [1, 3, 4, 7])
        for table in ("T2", "T1"):
            royal.deal(table, LOSS)
        if number % 4 == 3:
            royal.void("T1")
            royal.end("T2")
            continue
        for table in ("T2", "T1") if number % 2 else ("T1", "T2"):
            royal.end(table)
    royal.new_shoe("T1")
    royal.new_shoe("T2")


def _persons(royal: Play) -> None:
    """What needs two persons, on the King-9 link."""
    for amount, part in ((usd("3.00"), "meter"), (-usd("1.00"), "meter"), (usd("2.00"), "reserve")):
        royal.carry_out("adjust", {"level": "heart", "amount_micros": amount, "part": part})
    royal.carry_out("adjust", {"level": "star", "amount_micros": usd("40.00"), "part": "overflow"})
    royal.carry_out("transfer", {"level": "heart", "to": "spade", "amount_micros": usd("1.50")})
    royal.carry_out("limit", {"level": "spade", "limit_micros": usd("500.00")})
    star = royal.meters.snapshot().levels["star"]
    changed = {**{part: getattr(star, part) for part in LEVEL_PARTS}, "reset_micros": usd("101.00")}
    royal.carry_out("level", {"definition": changed})
    royal.carry_out("limit", {"level": "star", "limit_micros": usd("160.00")})
    raised = must_hit_level("7.00", [("4.00", 1), ("7.00", 3)])
    body = {
        part: getattr(raised, part) for part in (*LEVEL_PARTS, "maximum_micros", "distribution")
    }
    royal.carry_out("level", {"definition": body})
    royal.meters.run(royal.meters.calls.reject(royal.propose("pay", {"award": 1}), "cy", "why?"))
    royal.play("T1", [1], STAR)
    royal.carry_out("void_award", {"award": royal.pending()[-1].award})
    seen = {"table": "T1", "round": 1, "seat": 3, "line": "star"}
    royal.carry_out("hand_award", seen, ["T1"])
    seen = {"table": "T2", "round": 1, "seat": 3, "line": "any_royal"}
    royal.carry_out("hand_award", seen, ["T2"])
    won = next(award for award in royal.pending() if award.kind == "must_hit")
    royal.carry_out("void_award", {"award": won.award})


def _levels(royal: Play, multi: Play) -> None:
    """Tables and terms that change, and money that goes from link to link."""
    sent = {"level": "star", "to_link": "multi", "to": "star", "amount_micros": usd("2.00")}
    royal.carry_out("transfer", sent)
    royal.carry_out("transfer", sent | {"to": "heart"})
    calls = multi.meters.calls
    multi.meters.run(calls.receive("jobs", "royal", 1, "star", usd("2.00")))
    multi.meters.run(calls.receive("jobs", "royal", 2, "heart", usd("2.00")))
    royal.meters.run(royal.meters.calls.cleared("jobs", "multi", 1))
    royal.doors(opened=False)
    royal.carry_out("table", {"definition": _body(table_of("T1", first=2))}, ["T1"])
    royal.carry_out("table", {"definition": _body(table_of("T9"))}, ["T9"])
    terms = terms_of("MA-K9", hand_pay_above_micros=usd("20.00"))
    royal.carry_out("terms", {"terms": _body(terms)}, royal.meters.tables())
    royal.doors(opened=True)
    royal.balance()
    royal.play("T1", [1, 2], (hand("K♣ 9♥"), hand("2♠ 4♠")))  # seat 1's, since the change
    royal.play("T9", [1, 2], STAR)


def _multi_level(multi: Play) -> None:
    """Every line that only the Multi-Level edition has."""
    for player, banker in (
        ("Q♠ 9♥", "9♥ Q♠"),
        ("Q♠ 9♥", "9♥ K♠"),
        ("2♠ 3♠", "9♥ K♠"),
        ("9♥ K♠", "2♠ 3♠"),
        ("J♠ 9♥", "2♠ 3♠"),
    ):
        multi.play("M1", [1, 2], (hand(player), hand(banker)))
    multi.lock("M2", [1])
    multi.deal("M2", (hand("J♠ 9♥"), hand("9♥ K♠")))
    multi.correct("M2", 1, LOSS)
    multi.end("M2")


def _last(royal: Play, multi: Play) -> None:
    """Levels that are taken away: Must Hit revealed, a card level with all tables closed."""
    royal.carry_out("decommission", {"level": "must_hit", "to": "heart"}, revealed=royal.secrets())
    royal.play("T2", [1, 2])
    royal.doors(opened=False)
    royal.carry_out("decommission", {"level": "spade"}, royal.meters.tables())
    royal.balance()
    multi.propose("adjust", {"level": "star", "amount_micros": 1})
    multi.lock("M1", [3])
    multi.balance()


def _body(value: object) -> dict[str, Any]:
    body: dict[str, Any] = msgspec.to_builtins(value)
    return body


def write_log(
    folder: Path,
    lines: Sequence[bytes],
    signer: Signer,
    *,
    segment: int = 50_000,
    cosigner: Cosigner | None = None,
) -> Path:
    """Write lines into a log folder as the sealer would, batch by batch."""
    writer.create(folder, signer, segment)
    with LogWriter(folder, signer.verifier) as log:
        while log.size < len(lines):
            log.append(lines[log.size : log.size + min(log.room, BATCH)])
            signed = log.seal(signer)
            if cosigner:
                text = signed.decode().rpartition("\n\n")[0] + "\n"
                log.add_signatures(log.size, [cosigner.sign_at(text, 1_700_000_000)])
            log.close_segments(signer)
    return folder


@dataclass(frozen=True)
class Journals:
    """What was played, and what the server held at the end."""

    royal: list[bytes]
    multi: list[bytes]
    site: list[bytes]
    numbers: dict[str, dict[str, int]]

    def write(self, folder: Path, segment: int) -> Path:
        """Write a folder with all logs, cosigned."""
        for name, lines, signer in (
            ("royal", self.royal, ROYAL_SIGNER),
            ("multi", self.multi, MULTI_SIGNER),
            ("site", self.site, SITE_SIGNER),
        ):
            write_log(folder / name, lines, signer, segment=segment, cosigner=COSIGNER)
        return folder


def run_site(client: Redis, folder: Path) -> list[bytes]:
    """Hire people, bring devices and give tokens; gives the site's journal."""
    journal = SiteJournal(client)
    users = Users(journal, lambda: 0)
    sessions = Sessions(journal, users, lambda: 0)
    approvals = Approvals(journal, users, sessions)
    devices = Devices(journal, make(folder / "devices.key", cycle_open=False))
    journal.note("admin", "start", {"version": "0", "site": "a floor", "keys": {"draws": "1"}})
    for name in ("ann", "bob"):
        users.put(name, [Role.SUPERVISOR], "admin", second="owner")
    users.give_password("bob", "ann")
    users.give_roles("bob", [Role.DEALER], "ann")
    devices.add("hub-1", Kind.HUB, ["T1"], "ann")
    devices.rotate("hub-1", "ann")
    wish = Wish(what="token", name="signs", roles=[Role.AUDITOR], reason="a sign", by="ann")
    approvals.approve(approvals.propose(wish), "bob")
    approvals.reject(approvals.propose(wish), "ann")
    approvals.propose(wish)
    sessions.revoke_token("signs", "ann")
    devices.revoke("hub-1", "ann")
    users.retire("bob", "ann")
    return [line.encode() for _, line in journal.entries()]


def play_journals(client: Redis, folder: Path) -> Journals:
    """Play everything once, and keep the journals."""
    royal, multi = play_everything(client, folder)
    return Journals(
        royal.lines(),
        multi.lines(),
        run_site(client, folder),
        {play.meters.link: play.meters.numbers() for play in (royal, multi)},
    )


def random_cards(rng: Random) -> tuple[Hand, Hand]:
    """Deal four cards, a Royal 9 far more often than a shoe would."""
    four = rng.sample(ALL_CARDS, 4)
    if rng.random() < 0.3:
        four[:2] = rng.choice((STAR[0], hand("K♦ 9♠"), hand("Q♠ 9♠"), hand("J♥ 9♦")))
    if rng.random() < 0.2:
        four[2:] = rng.choice((STAR[0], hand("K♦ 9♠"), hand("Q♣ 9♣")))
    return tuple(four[:2]), tuple(four[2:])


class RandomPlay:
    """Everything that people and devices might do, in any order; refusals are part of it."""

    def __init__(self, play: Play, rng: Random) -> None:
        self.play, self.rng = play, rng
        self.calls = play.meters.calls

    def go(self, steps: int) -> None:
        for _ in range(steps):
            self._sync()
            chosen = self.rng.choices(
                (self.go_on, self.odd_step, self.door, self.money, self.change), (60, 8, 2, 6, 2)
            )
            with suppress(Refused):
                chosen[0](self.rng.choice(self.play.meters.tables()))

    def _sync(self) -> None:
        self.state = self.play.meters.snapshot()
        self.play.proposals = self.state.numbers["proposals"]
        for name, table in self.state.tables.items():
            self.play.rounds[name], self.play.shoes[name] = table.round - 1, table.shoe

    def go_on(self, table: str) -> None:
        """Take the table's next step."""
        at, play = self.state.tables[table], self.play
        if at.status == "closed":
            play.meters.run(self.calls.open_table(table, "sue", "shift"))
        elif at.phase == "open" and self.needs_shoe(at):
            play.new_shoe(table)
        elif at.phase == "open":
            seats = sorted(self.rng.sample(range(1, SEATS + 1), self.rng.randint(0, SEATS)))
            play.lock(table, seats) if seats else play.bet(table, self.rng.choice(([], [2])))
        elif at.phase == "locked":
            play.deal(table, self.cards(table))
        elif at.definition.kind == "automated" and not at.corrections:
            play.end(table, self.thirds[table])
        else:
            play.end(table, self.rng.choice(("", "2D", "7S8S")))

    @staticmethod
    def needs_shoe(at: Table) -> bool:
        automated = at.definition.kind == "automated"
        return sum(map(int, at.counts)) > 300 or (automated and not at.commit)

    thirds: dict[str, str] = {}  # noqa: RUF012 - tables of one link only, one play at a time

    def cards(self, table: str) -> tuple[Hand, Hand]:
        if self.state.tables[table].definition.kind != "automated":
            return random_cards(self.rng)
        played = self.play.controller.draw_round(table)
        self.thirds[table] = "".join(played.player[2:] + played.banker[2:])
        return played.player[:2], played.banker[:2]

    def odd_step(self, table: str) -> None:
        """Do what is not done in every round."""
        play, at = self.play, self.state.tables[table]
        step = self.rng.randrange(7)
        if step == 0:
            play.void(table)
        elif step == 1:
            play.cancel(table)
        elif step == 2 and at.definition.kind != "automated":
            play.correct(table, at.corrections + 1, random_cards(self.rng))
        elif step == 3:
            play.lock(table, [], self.rng.choice(("free", "simulated")))
        elif step == 4:
            play.bet(table, [1, 6], round_=at.round - self.rng.randrange(2))
        elif step == 5:
            play.read_card(table, self.rng.choice(ALL_CARDS))
        else:
            play.balance()

    def door(self, table: str) -> None:
        verb = self.rng.choice((self.calls.close_table, self.calls.open_table))
        self.play.meters.run(verb(table, "sue", "shift"))

    def money(self, table: str) -> None:
        """Pay, void, award by hand, adjust, transfer."""
        play, rng = self.play, self.rng
        level_ = rng.choice(list(self.state.levels))
        amount = rng.choice((usd("1.00"), -usd("0.50"), usd("9.00"), 7))
        step = rng.randrange(6)
        if step <= 2 and self.state.awards:
            award = rng.choice(self.state.awards)
            play.settle(award) if step else play.carry_out("void_award", {"award": award.award})
        elif step == 3:
            body = {
                "table": table,
                "round": 1,
                "seat": 3,
                "line": rng.choice(("star", "any_royal")),
            }
            play.carry_out("hand_award", body, [table])
        elif step == 4:
            part = rng.choice(("meter", "reserve", "overflow"))
            if level_ != "must_hit" or amount > 0:  # less would make its award impossible
                play.carry_out("adjust", {"level": level_, "amount_micros": amount, "part": part})
        else:
            to = {"to": rng.choice(list(self.state.levels)), "amount_micros": amount}
            link = rng.choice(({}, {"to_link": "elsewhere"}))
            if level_ != "must_hit":
                play.carry_out("transfer", {"level": level_, **to, **link})

    def change(self, table: str) -> None:
        """Change a limit, a level, a table."""
        play, rng = self.play, self.rng
        name = rng.choice(("star", "spade", "must_hit"))
        known = self.state.levels[name]
        step = rng.randrange(3)
        if step == 0:
            play.carry_out("limit", {"level": name, "limit_micros": rng.choice((10**8, 10**9))})
        elif step == 1:
            reset = known.reset_micros + rng.choice((-1, 1)) * usd("0.10")
            body = _body(known) | {"reset_micros": max(usd("1.00"), reset)}
            play.carry_out("level", {"definition": body})
        elif self.state.tables[table].definition.kind != "automated":
            definition = table_of(table, first=rng.randrange(9))
            play.carry_out("table", {"definition": _body(definition)}, [table])
