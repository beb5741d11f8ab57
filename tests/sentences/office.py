"""Sentences of the office: awards paid and voided, and everything that takes two persons."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec
from draft import printed
from pit import Pit, Step
from story import ACTS, Language

from meters.money import dollars
from progressive.controller import Controller
from progressive.definition import distribution_body
from progressive.rules.cards import Hand
from progressive.rules.must_hit import uniform
from progressive.rules.royal9 import combination

says: Final = Language()


class Office:
    """Two persons: the first proposes, the second approves."""

    def __init__(self, pit: Pit, first: str, second: str) -> None:
        self.pit, self.first, self.second = pit, first, second

    def ask(
        self,
        link: Controller,
        what: str,
        reason: str,
        body: Mapping[str, Any],
        tables: Iterable[str] = (),
    ) -> Step:
        """Propose now; the step is the approval."""
        number = self.pit.propose(link, self.first, what, reason, body)
        call = link.meters.calls.approve(number, self.second, tables)
        return lambda: link.meters.run(call)


def two_persons(text: str) -> Callable[[Callable[..., Step]], Callable[..., Step]]:
    """Teach a sentence that begins with two names."""

    def learn(meaning: Callable[..., Step]) -> Callable[..., Step]:
        def by_two(pit: Pit, person: str, person_two: str, **words: object) -> Step:
            return meaning(Office(pit, person, person_two), **words)

        says(ACTS, f"{{person}} and {{person_two}} {text}")(by_two)
        return meaning

    return learn


def _award(pit: Pit, table: str, seat: int, line: str, money: int) -> tuple[Controller, int]:
    link, award = pit.award(table, seat, line)
    assert award.amount == money, f"it comes to {dollars(award.amount)}"
    return link, award.award


@says(ACTS, "{person} pays the {line} of seat {number} at {table}, {money}")
def pay(pit: Pit, *, person: str, line: str, number: int, table: str, money: int) -> Step:
    link, award = _award(pit, table, number, line, money)

    def step() -> Any:  # noqa: ANN401 - as every step
        answer = link.meters.run(link.meters.calls.pay(award, person))
        assert answer.amount == money, f"paid is {dollars(answer.amount)}"
        return answer

    return step


@two_persons("pay the {line} of seat {number} at {table}, {money}")
def pay_together(office: Office, line: str, number: int, table: str, money: int) -> Step:
    link, award = _award(office.pit, table, number, line, money)
    return office.ask(link, "pay", "hand pay", {"award": award})


@two_persons("void the {line} of seat {number} at {table}, {money}: {reason}")
def void_award(
    office: Office, *, line: str, number: int, table: str, money: int, reason: str
) -> Step:
    link, award = _award(office.pit, table, number, line, money)
    return office.ask(link, "void_award", reason, {"award": award})


@two_persons("award {line} to seat {number} for round {number_round} of {table}: {reason}")
def hand_award(
    office: Office, *, line: str, number: int, number_round: int, table: str, reason: str
) -> Step:
    link, name, _ = office.pit.at(table)
    body = {"table": name, "round": number_round, "seat": number, "line": line}
    return office.ask(link, "hand_award", reason, body, [name])


@two_persons("adjust the {level} {part} {way} by {money}: {reason}")
def adjust(office: Office, *, level: str, part: str, way: str, money: int, reason: str) -> Step:
    amount = money if way == "up" else -money
    body = {"level": level, "part": part, "amount_micros": amount}
    return office.ask(office.pit.link(), "adjust", reason, body)


@two_persons("transfer {money} from {level} to {level_to}: {reason}")
def transfer(office: Office, money: int, level: str, level_to: str, reason: str) -> Step:
    body = {"level": level, "to": level_to, "amount_micros": money}
    return office.ask(office.pit.link(), "transfer", reason, body)


@two_persons("transfer {money} from {level} of {link} to {level_to} of {link_to}: {reason}")
def transfer_to_link(
    office: Office, *, money: int, level: str, link: str, level_to: str, link_to: str, reason: str
) -> Step:
    pit, sender = office.pit, office.pit.link(link)
    body = {
        "level": level,
        "to": level_to,
        "to_link": pit.link(link_to).meters.link,
        "amount_micros": money,
    }
    approve = office.ask(sender, "transfer", reason, body)

    def step() -> Any:  # noqa: ANN401 - as every step
        answer = approve()
        pit.transfers.append((sender.meters.link, answer.transfer))
        return answer

    return step


@says(ACTS, "The transfer arrives at {link}")
def arrive(pit: Pit, link: str) -> Step:
    to_link = pit.link(link).meters
    from_link, number = pit.transfers[-1]
    sender = pit.link(from_link).meters
    sent = pit.state(from_link).transfers[f"{to_link.link}.{number}"]
    receive = to_link.calls.receive("clerk", from_link, number, sent.level, sent.amount_micros)
    cleared = sender.calls.cleared("clerk", to_link.link, number)

    def step() -> None:
        to_link.run(receive)
        sender.run(cleared)

    return step


@two_persons("change {level} to reset {money}[ increment {rate}]: {reason}")
def change_level(
    office: Office, level: str, money: int, reason: str, rate: int | None = None
) -> Step:
    link = office.pit.link()
    changed = msgspec.structs.replace(office.pit.state().levels[level], reset_micros=money)
    if rate is not None:
        changed = msgspec.structs.replace(changed, increment_ppm=rate)
    return office.ask(link, "level", reason, {"definition": msgspec.to_builtins(changed)})


@two_persons("change {level} to reset {money}, hit by {money_maximum}: {reason}")
def change_must_hit(
    office: Office, level: str, money: int, money_maximum: int, reason: str
) -> Step:
    link = office.pit.link()
    changed = msgspec.structs.replace(
        office.pit.state().levels[level],
        reset_micros=money,
        maximum_micros=money_maximum,
        distribution=distribution_body(uniform(money_maximum)),
    )
    return office.ask(link, "level", reason, {"definition": msgspec.to_builtins(changed)})


@two_persons("set the limit of {level} to {money}: {reason}")
def change_limit(office: Office, level: str, money: int, reason: str) -> Step:
    body = {"level": level, "limit_micros": money}
    return office.ask(office.pit.link(), "limit", reason, body)


@two_persons("decommission {level} in favour of {level_to}: {reason}")
def decommission(office: Office, level: str, level_to: str, reason: str) -> Step:
    link = office.pit.link()
    body = {"level": level, "to": level_to}
    return office.ask(link, "decommission", reason, body, link.meters.tables())


@two_persons("print {cards} at seat {number} of {table}: {reason}")
def print_combination(office: Office, cards: Hand, number: int, table: str, reason: str) -> Step:
    link, name, now = office.pit.at(table)
    combinations = list(now.definition.combinations)
    combinations[number - 1] = printed(combination(cards))
    changed = msgspec.structs.replace(now.definition, combinations=combinations)
    return office.ask(link, "table", reason, {"definition": msgspec.to_builtins(changed)}, [name])


@says(ACTS, "{person} turns down the last proposal: {reason}")
def turn_down(pit: Pit, person: str, reason: str) -> Step:
    meters = pit.link().meters
    number = pit.state().proposals[-1].number
    return lambda: meters.run(meters.calls.reject(number, person, reason))
