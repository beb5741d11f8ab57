"""The books of a link during one step: postings collected, meters moved, resets paid."""

from collections import Counter

from meters.errors import Refused
from meters.levels import Level, contribution
from meters.money import AMOUNT_MAX, CENT
from meters.state import GROWING, State


class Books:
    """One step's view of the state, which it changes, and the postings it leads to."""

    def __init__(self, state: State, time: int) -> None:
        self.state = state
        self.numbers = state.numbers
        self.entry = state.numbers["head"] + 1
        self.time = max(time, state.numbers["time"])
        self.posted: Counter[str] = Counter()
        self.in_force: list[str] = []

    def post(self, account: str, amount: int) -> None:
        """Post an amount to an account."""
        self.posted[account] += amount
        self.numbers[account] += amount

    def count(self, level: str, name: str, amount: int) -> None:
        """Move one of a level's running counts."""
        self.numbers[f"{level}.{name}"] += amount
        if abs(self.numbers[f"{level}.{name}"]) > AMOUNT_MAX:
            raise Refused("amount_out_of_bounds", f"{level}.{name}")

    def postings(self) -> dict[str, int]:
        """Give the postings, which sum to zero and keep every level's account in bounds."""
        if sum(self.posted.values()):
            raise AssertionError(f"postings sum to {sum(self.posted.values())}")
        if sum(amount for amount in self.posted.values() if amount > 0) > AMOUNT_MAX:
            raise Refused("amount_out_of_bounds", "one step moves too much")
        for account, amount in self.posted.items():
            if amount and account not in GROWING and not 0 <= self.numbers[account] <= AMOUNT_MAX:
                raise Refused("amount_out_of_bounds", account)
        return {account: amount for account, amount in self.posted.items() if amount}

    def meter(self, level: str) -> int:
        """Tell what a level's meter shows."""
        return self.numbers[f"{level}.meter"]

    def open_levels(self) -> list[Level]:
        """Give the levels that still take contributions, in the link's order."""
        names = self.state.texts["levels"].split(",")
        return [self.state.levels[name] for name in names if not self.state.levels[name].closed]

    def must_hit(self) -> Level | None:
        """Give the link's Must Hit level, if it has one."""
        return next((level for level in self.open_levels() if level.maximum_micros), None)

    def fill(self, level: Level, amount: int) -> None:
        """Put money onto a meter; what would take it over its limit waits in overflow."""
        fits = max(0, min(amount, level.top_micros - self.meter(level.name)))
        self.post(f"{level.name}.meter", fits)
        self.post(f"{level.name}.overflow", amount - fits)

    def contribute(self, wagers: int) -> int:
        """Contribute the wagers' shares; gives what all levels took together."""
        stake = self.state.terms.stake_micros
        taken = 0
        for level in self.open_levels():
            amount = wagers * contribution(stake, level.increment_ppm)
            reserve = wagers * contribution(stake, level.reserve_ppm)
            if amount > level.contribution_max_micros:
                raise Refused("unreasonable_contribution", level.name)
            self.fill(level, amount)
            self.count(level.name, "in", amount)
            self.post(f"{level.name}.reserve", reserve)
            taken += amount + reserve
        return taken

    def take(self, level: str, amount: int) -> None:
        """Take an award off a meter, into pending."""
        self.post(f"{level}.meter", -amount)
        self.post(f"{level}.pending", amount)
        self.count(level, "wins", amount)
        self.count(level, "hits", 1)

    def reset(self, name: str) -> tuple[int, int]:
        """Reopen a meter; gives what reserve and house paid. Waiting parameters come into force."""
        if name in self.state.next:
            self.state.levels[name] = self.state.next.pop(name)
            self.numbers["config"] = self.entry
            self.in_force.append(name)
        level = self.state.levels[name]
        from_reserve = min(self.numbers[f"{name}.reserve"], level.reset_micros)
        from_house = level.reset_micros - from_reserve
        self.post(f"{name}.reserve", -from_reserve)
        self.post("house", -from_house)
        self.post(f"{name}.meter", level.reset_micros)
        self.count(name, "resets", level.reset_micros)
        top = level.top_micros - (CENT if level.maximum_micros else 0)
        moved = min(top - self.meter(name), self.numbers[f"{name}.overflow"])
        self.post(f"{name}.overflow", -moved)
        self.post(f"{name}.meter", moved)
        return from_reserve, from_house


def whole_cents(amount: int) -> int:
    """Leave the fraction of a cent away: it stays on the meter."""
    return amount - amount % CENT
