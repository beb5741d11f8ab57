"""Money between links: what one has sent the other receives once, and then it is cleared."""

from typing import Final, NamedTuple

from meters.client import Client
from meters.errors import Refused
from meters.link import Meters
from meters.state import Transfer

BY: Final = "transfers"  # no person: two of them agreed on the transfer itself


class Waiting(NamedTuple):
    """A transfer that did not arrive, and why."""

    link: str
    to_link: str
    number: int
    amount_micros: int
    reason: str


def deliver(client: Client, link: str) -> list[Waiting]:
    """Bring what a link has sent to where it goes; gives what could not be brought.

    Both halves may be repeated: it may be cut off anywhere, and run anywhere again.
    """
    sender = Meters(client, link)
    if not sender.tables():
        return []
    sent = sender.snapshot().transfers
    waiting: dict[str, Waiting] = {}
    for to_link, number in sorted(_place(name) for name in sent):
        transfer = sent[f"{to_link}.{number}"]
        if to_link in waiting:
            continue  # a link takes its transfers in their order
        try:
            _bring(sender, to_link, number, transfer)
        except Refused as refusal:
            waiting[to_link] = Waiting(link, to_link, number, transfer.amount_micros, str(refusal))
    return list(waiting.values())


def _place(name: str) -> tuple[str, int]:
    to_link, _, number = name.rpartition(".")
    return to_link, int(number)


def _bring(sender: Meters, to_link: str, number: int, transfer: Transfer) -> None:
    receiver = Meters(sender.client, to_link)
    receiver.run(
        receiver.calls.receive(BY, sender.link, number, transfer.level, transfer.amount_micros)
    )
    sender.run(sender.calls.cleared(BY, to_link, number))
