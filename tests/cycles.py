"""Must Hit as the tests foresee it: what a cycle's secret will draw, and who should have won."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from journals import LOSS, ROYAL_SIGNER, Play, write_log

from meters import entries as e
from meters.answers import Due
from meters.replay import audit
from progressive.audit import verifier
from progressive.controller import Controller
from progressive.definition import draw_parameters
from progressive.draws import must_hit
from progressive.draws.secret import DrawSecret
from progressive.draws.vault import Vault
from progressive.rules.cards import hand


class Expected(NamedTuple):
    """Who takes a cycle, and how much of it."""

    cycle: int
    table: str
    round: int
    seat: int
    amount: int


def level_of(controller: Controller) -> must_hit.Parameters:
    levels = controller.meters.snapshot().levels
    return draw_parameters(levels["must_hit"])


def secret_of(vault: Vault, sealed: str, number: int, link: str = "royal") -> DrawSecret:
    cycle = must_hit.Cycle(link, "must_hit", number)
    return vault.open_(sealed, must_hit.seal_context(cycle))


def dealt(cards: str) -> must_hit.Dealt:
    """Read eight letters: Player's two cards, then Banker's."""
    four = hand(" ".join(cards[at : at + 2] for at in range(0, 8, 2)))
    return must_hit.Dealt(four[:2], four[2:])


def trigger_of(controller: Controller, due: Due) -> int:
    """Open the present cycle's secret and draw its trigger, as only a test may."""
    secret = secret_of(controller.vault, due.sealed, due.present, controller.meters.link)
    cycle = must_hit.Cycle(controller.meters.link, "must_hit", due.present)
    before = dealt(due.opening_cards) if due.opening_cards else None
    return must_hit.draw_trigger(cycle, secret, level_of(controller), due.opening, before).micros


def due_at(controller: Controller, table: str) -> Due:
    return controller.meters.run(controller.meters.calls.due(table))


def play_to_the_brink(play: Play, table: str, seats: list[int]) -> None:
    """Play rounds until the next lock of these seats reaches the trigger."""
    level = level_of(play.controller)
    adds = 5 * level.increment_ppm * len(seats)
    rounds = 0
    while True:
        now = play.meters.numbers()["must_hit.meter"]
        if min(now + adds, level.maximum_micros) >= trigger_of(
            play.controller, due_at(play.controller, table)
        ):
            return
        if rounds % 7 == 0:
            play.new_shoe(table)
        rounds += 1
        play.play(table, [seats[0]])


def foreseen(controller: Controller, table: str, seats: list[int], value: int) -> Expected:
    """Work out who wins the present cycle when the table's round takes it with losing cards."""
    due = due_at(controller, table)
    cycle = must_hit.Cycle(controller.meters.link, "must_hit", due.present)
    secret = secret_of(controller.vault, due.sealed, due.present, controller.meters.link)
    won = must_hit.WonRound(table, due.round, must_hit.Dealt(*LOSS), seats)
    seat = must_hit.draw_winner(cycle, secret, won).seat
    return Expected(due.present, table, due.round, seat, value // 10_000 * 10_000)


def entries_of(play: Play) -> list[e.AnyEntry]:
    return [e.read_entry(line) for line in play.lines()]


def awarded(entries: list[e.AnyEntry]) -> list[Expected]:
    """List the Must Hit awards of a journal, in its order."""
    return [
        Expected(
            end.must_hit.cycle,
            end.table,
            end.round,
            end.must_hit.award.seat,
            end.must_hit.award.amount,
        )
        for end in entries
        if isinstance(end, e.End) and end.must_hit
    ]


class Referee:
    """Decides every revealed cycle anew from locks, cards and secrets, without the controller."""

    def __init__(self, entries: list[e.AnyEntry]) -> None:
        opened = entries[0]
        assert isinstance(opened, e.Open)
        self.link = opened.definition.link
        [self.level] = [each for each in opened.definition.levels if each.maximum_micros]
        ends = [entry for entry in entries if isinstance(entry, e.End)]
        self.wins = {end.must_hit.cycle: end.must_hit for end in ends if end.must_hit}
        self.cycle, self.opening = 1, self.level.seed_micros
        self.before: must_hit.Dealt | None = None
        self.locked: dict[tuple[str, int], e.Lock] = {}  # open rounds with a bettor, as they locked
        self.cards: dict[tuple[str, int], must_hit.Dealt] = {}
        self.decided: list[Expected] = []
        for entry in entries:
            self._take(entry)

    def _take(self, entry: e.AnyEntry) -> None:
        if isinstance(entry, e.Lock) and entry.seats:
            self.locked[entry.table, entry.round] = entry
        elif type(entry) is e.Deal:  # as first recorded: a correction does not draw anew
            self.cards[entry.table, entry.round] = dealt("".join(entry.player + entry.banker))
        elif isinstance(entry, e.Void):
            self.locked.pop((entry.table, entry.round), None)
        elif isinstance(entry, e.End) and (entry.table, entry.round) in self.locked:
            if self.cycle in self.wins:
                self._decide((entry.table, entry.round), self.wins[self.cycle])
            del self.locked[entry.table, entry.round]

    def _decide(self, at: tuple[str, int], win: e.MustHitWin) -> None:
        secret = DrawSecret(bytes.fromhex(win.secret), bytes.fromhex(win.salt))
        cycle = must_hit.Cycle(self.link, self.level.name, self.cycle)
        parameters = draw_parameters(self.level)
        drawn = must_hit.draw_trigger(cycle, secret, parameters, self.opening, self.before)
        reached = [
            place
            for place, lock in self.locked.items()
            if lock.cycle == self.cycle and lock.value >= drawn.micros
        ]
        if reached[:1] != [at]:
            return
        lock = self.locked[at]
        won = must_hit.WonRound(*at, self.cards[at], lock.seats)
        seat = must_hit.draw_winner(cycle, secret, won).seat
        self.decided.append(Expected(self.cycle, *at, seat, lock.value // 10_000 * 10_000))
        self.cycle, self.opening, self.before = self.cycle + 1, win.opening, self.cards[at]


def assert_commitments_run_ahead(controller: Controller, entries: list[e.AnyEntry]) -> None:
    """Every cycle was committed to one cycle ahead, and every secret keeps its commitment."""
    opened = entries[0]
    assert isinstance(opened, e.Open)
    commits = dict(enumerate(opened.commits, 1))
    link = opened.definition.link
    for entry in entries:
        if isinstance(entry, e.End) and entry.must_hit:
            win = entry.must_hit
            secret = DrawSecret(bytes.fromhex(win.secret), bytes.fromhex(win.salt))
            cycle = must_hit.Cycle(link, "must_hit", win.cycle)
            assert must_hit.keeps(commits[win.cycle], cycle, secret)
            assert len(commits) == win.cycle + 1
            commits[win.cycle + 2] = win.commit
    state = controller.meters.snapshot()
    open_ones = sorted(commits)[-2:]
    assert state.commits == {str(number): commits[number] for number in open_ones}
    for number in open_ones:
        sealed = str(
            controller.meters.client.hget(controller.meters.calls.keys.secrets, str(number))
        )
        secret = secret_of(controller.vault, sealed, number, link)
        assert must_hit.keeps(commits[number], must_hit.Cycle(link, "must_hit", number), secret)


def assert_found_right(play: Play, folder: Path) -> None:
    """Have replay and the verifier, alone on its machine, work the whole journal out again."""
    found = audit(play.meters)
    assert found.is_exact, found.problems
    machine = folder / "machine"
    machine.mkdir(parents=True)
    shutil.copy(verifier.__file__, machine / "verifier.py")
    write_log(folder / "log" / "royal", play.lines(), ROYAL_SIGNER)
    key = str(ROYAL_SIGNER.verifier)
    ran = subprocess.run(  # noqa: S603 - the product's own file
        [sys.executable, "-I", "-S", "verifier.py", str(folder / "log"), "--key", key],
        cwd=machine,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
