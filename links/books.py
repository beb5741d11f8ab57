"""What every total must be: a floor's own books, kept by the rules and from nothing else.

They know the link's definition and the steps that were acknowledged, each with the number of its
entry. They are written apart from the controller's and share no code with them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

CENT = 10_000
PPM = 1_000_000
NO_LIMIT = 2**53 - 1


@dataclass(frozen=True, slots=True)
class Step:
    """A step that was acknowledged."""

    entry: int
    verb: str
    table: str
    round: int
    body: dict[str, Any]
    answer: dict[str, Any]


@dataclass
class Award:
    """An award that is not settled."""

    number: int
    level: str | None
    kind: str
    amount: int
    at: tuple[str, int]
    added: int = 0
    from_reserve: int = 0
    from_house: int = 0
    later: int | None = None


@dataclass
class Meter:
    """One level's money."""

    name: str
    share: int
    reserve_share: int
    reset: int
    top: int
    must_hit: bool
    display: int = 0
    reserve: int = 0
    overflow: int = 0
    pending: int = 0
    progressive_in: int = 0
    hits: int = 0
    wins: int = 0


TOLD = ("display", "reserve", "overflow", "pending", "progressive_in", "hits", "wins")


@dataclass
class Books:
    """A link's totals from a beginning that the controller told; `problems` names what is odd."""

    definition: dict[str, Any]
    start: list[dict[str, Any]]  # the link's meters when the floor began
    meters: dict[str, Meter] = field(init=False)
    awards: dict[int, Award] = field(default_factory=dict)
    accounts: dict[str, int] = field(default_factory=dict)  # moved since the beginning
    posted: dict[str, int] = field(default_factory=dict)  # by the step at hand
    locks: dict[tuple[str, int], tuple[int, int]] = field(default_factory=dict)
    numbers: int = 0
    wagers: int = 0
    problems: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        stake = self.definition["terms"]["stake_micros"]
        told = {row["level"]: row for row in self.start}
        self.meters = {
            level["name"]: Meter(
                level["name"],
                stake * level["increment_ppm"] // PPM,
                stake * level["reserve_ppm"] // PPM,
                level["reset_micros"],
                level.get("maximum_micros") or level["limit_micros"] or NO_LIMIT,
                bool(level.get("maximum_micros")),
                **{name: told[level["name"]][name] for name in TOLD},
            )
            for level in self.definition["levels"]
        }

    def take(self, steps: Iterable[Step]) -> dict[int, dict[str, int]]:
        """Keep the books of steps in the order of their entries; gives each entry's postings."""
        found = {}
        for step in sorted(steps, key=lambda step: step.entry):
            self.posted = {}
            rule = getattr(self, f"_{step.verb.replace(' ', '_')}")
            rule(step)
            found[step.entry] = {name: moved for name, moved in self.posted.items() if moved}
            for name, moved in self.posted.items():
                self.accounts[name] = self.accounts.get(name, 0) + moved
        return found

    def _post(self, account: str, amount: int) -> None:
        self.posted[account] = self.posted.get(account, 0) + amount
        level, _, part = account.rpartition(".")
        if level in self.meters:
            name = "display" if part == "meter" else part
            meter = self.meters[level]
            setattr(meter, name, getattr(meter, name) + amount)

    def _fill(self, meter: Meter, amount: int) -> None:
        fits = max(0, min(amount, meter.top - meter.display))
        self._post(f"{meter.name}.meter", fits)
        self._post(f"{meter.name}.overflow", amount - fits)

    def _lock(self, step: Step) -> None:
        wagers = len(step.body["seats"])
        self.wagers += wagers
        stakes = kept = wagers * int(self.definition["terms"]["stake_micros"])
        for meter in self.meters.values():
            self._fill(meter, wagers * meter.share)
            self._post(f"{meter.name}.reserve", wagers * meter.reserve_share)
            meter.progressive_in += wagers * meter.share
            kept -= wagers * (meter.share + meter.reserve_share)
            if meter.must_hit:
                self.locks[step.table, step.round] = (wagers, meter.display)
        self.locks.setdefault((step.table, step.round), (wagers, 0))
        self._post("players", -stakes)
        self._post("house", kept)

    def _deal(self, step: Step) -> None:
        for won in step.answer.get("awards", []):
            self._win(step, won)

    _draw = _deal

    def _win(self, step: Step, won: dict[str, Any]) -> None:
        pay = self.definition["terms"]["lines"][won["line"]]
        at = (step.table, step.round)
        number = self.numbers = won["award"]
        if "amount_micros" in pay:
            award = Award(number, None, "fixed", pay["amount_micros"], at)
            self._post("house", -award.amount)
            self._post("fixed.pending", award.amount)
        else:
            meter = self.meters[pay["level"]]
            part = meter.display * pay["percent"] // 100
            kind = "full" if pay["percent"] == 100 else "share"  # noqa: PLR2004 - per cent
            award = Award(number, meter.name, kind, part - part % CENT, at)
            self._take_off(meter, award)
            if kind == "full":
                self._add(meter, award, won.get("added", 0))
                self._reopen(meter, award)
                self._follow(award)
        self.awards[number] = award
        self._compare_award(step, award, won)

    def _compare_award(self, step: Step, award: Award, won: dict[str, Any]) -> None:
        if award.amount != won["amount"]:
            self.problems.append(
                f"entry {step.entry}: award {award.number} at {step.table} should be "
                f"{award.amount}, the controller says {won['amount']}"
            )

    def _take_off(self, meter: Meter, award: Award) -> None:
        self._post(f"{meter.name}.meter", -award.amount)
        self._post(f"{meter.name}.pending", award.amount)
        meter.wins += award.amount
        meter.hits += 1

    def _add(self, meter: Meter, award: Award, added: int) -> None:
        """Take what the house adds from the answer: it hangs on the time between two wins."""
        self._post("house", -added)
        self._post(f"{meter.name}.pending", added)
        meter.wins += added
        award.added = added
        award.amount += added

    def _reopen(self, meter: Meter, award: Award) -> None:
        award.from_reserve = min(meter.reserve, meter.reset)
        award.from_house = meter.reset - award.from_reserve
        self._post(f"{meter.name}.reserve", -award.from_reserve)
        self._post("house", -award.from_house)
        self._post(f"{meter.name}.meter", meter.reset)
        top = meter.top - (CENT if meter.must_hit else 0)
        moved = min(top - meter.display, meter.overflow)
        self._post(f"{meter.name}.overflow", -moved)
        self._post(f"{meter.name}.meter", moved)

    def _follow(self, award: Award) -> None:
        for earlier in self.awards.values():
            if earlier.level == award.level and earlier.kind == "full" and earlier.later is None:
                earlier.later = award.number

    def _correct(self, step: Step) -> None:
        self._reverse_round(step)
        self._deal(step)

    def _reverse_round(self, step: Step) -> None:
        at = (step.table, step.round)
        for award in sorted(self.awards.values(), key=lambda award: -award.number):
            if award.at == at and award.kind != "addition":
                self._reverse(award)

    def _reverse(self, award: Award) -> None:
        del self.awards[award.number]
        if award.level is None:
            self._post("fixed.pending", -award.amount)
            self._post("house", award.amount)
            return
        meter = self.meters[award.level]
        meter.hits -= 1
        meter.wins -= award.amount
        self._post(f"{meter.name}.pending", -award.amount)
        if award.kind != "full":
            self._fill(meter, award.amount)
            return
        self._post("house", award.added)
        left = award.amount - award.added
        to_reserve = min(award.from_reserve, left)
        to_house = min(award.from_house, left - to_reserve)
        self._post(f"{meter.name}.reserve", to_reserve)
        self._post("house", to_house)
        left -= to_reserve + to_house
        if award.later is None:
            self._fill(meter, left)
        else:
            self._hand_on(meter, award, left)
        for earlier in self.awards.values():
            if earlier.later == award.number:
                earlier.later = award.later

    def _hand_on(self, meter: Meter, award: Award, left: int) -> None:
        """Give what a reversed award leaves to the level's first later one, paid or not."""
        later = self.awards.get(award.later or 0)
        if later is None:
            self.numbers += 1
            later = Award(self.numbers, meter.name, "addition", 0, ("", 0))
            self.awards[later.number] = later
        back = min(later.added, left)
        self._post("house", back)
        self._post(f"{meter.name}.pending", left - back)
        meter.wins += left - back
        later.added -= back
        later.amount += left - back

    def _end(self, step: Step) -> None:
        at, tray = (step.table, step.round), self.definition["terms"]["hand_pay_above_micros"]
        due = [
            award
            for award in self.awards.values()
            if award.at == at and award.level is None and award.amount <= tray
        ]
        if [award.number for award in due] != step.answer.get("paid", []):
            self.problems.append(f"entry {step.entry}: the tray paid {step.answer.get('paid', [])}")
        for award in due:
            self._settle(award)
        _, value = self.locks.pop(at, (0, 0))
        won = step.answer.get("must_hit")
        if won:
            self._must_hit(step, won["award"], value)

    def _must_hit(self, step: Step, won: dict[str, Any], value: int) -> None:
        """Win Must Hit at the value that the round's own lock left; what came later stays."""
        meter = next(meter for meter in self.meters.values() if meter.must_hit)
        number = self.numbers = won["award"]
        at = (step.table, step.round)
        award = Award(number, meter.name, "must_hit", value - value % CENT, at)
        self._take_off(meter, award)
        self._reopen(meter, award)
        self.awards[number] = award
        self._compare_award(step, award, won)

    def _settle(self, award: Award) -> None:
        account = f"{award.level}.pending" if award.level else "fixed.pending"
        self._post(account, -award.amount)
        self._post("players", award.amount)
        del self.awards[award.number]

    def _pay(self, step: Step) -> None:
        self._settle(self.awards[step.body["award"]])

    def _void(self, step: Step) -> None:
        wagers, _ = self.locks.pop((step.table, step.round))
        self._reverse_round(step)
        stakes = wagers * self.definition["terms"]["stake_micros"]
        self._post("house", -stakes)
        self._post("players", stakes)

    def _cancel(self, step: Step) -> None:
        """Move nothing: no wager was taken."""

    _new_shoe = _cancel
