"""The Python face of a link's meters: calls are run one by one, or many in one round trip."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar, cast

import redis

from meters.answers import Reported
from meters.calls import Call, Calls, Message
from meters.client import Client
from meters.errors import Refused, from_refusal, from_reply
from meters.state import State, read_state

A = TypeVar("A")
READ_AT_ONCE = 1000  # journal lines a round trip
_WHOLE = re.compile(r"-?[0-9]+")
_REFUSED = '{"refused":'


class Meters:
    """A link on a server; every method of `calls` is run by `run` or `run_many`."""

    def __init__(self, client: Client, link: str) -> None:
        self.client = cast("redis.Redis", client)  # a cluster's client takes the same calls
        self.link = link
        self.calls = Calls(link)

    def run(self, call: Call[A]) -> A:
        """Run a call; a refusal is raised as `Refused`, and then nothing was changed."""
        try:
            reply = self.client.fcall(call.function, len(call.keys), *call.keys, *call.args)
        except redis.ResponseError as error:
            raise from_reply(str(error)) or error from None
        return call.decoder.decode(cast("str", reply))

    def run_many(self, calls: Sequence[Call[A]]) -> list[A | Refused]:
        """Run many calls in one round trip, each on its own; a refusal stands in its place."""
        pipeline = self.client.pipeline(transaction=False)
        for call in calls:
            pipeline.fcall(call.function, len(call.keys), *call.keys, *call.args)
        replies = pipeline.execute(raise_on_error=False)
        answers: list[A | Refused] = []
        for call, reply in zip(calls, replies, strict=True):
            answer = _answer(call, reply)
            answers.append(answer)
        return answers

    def report(self, messages: Sequence[Message]) -> list[Reported | Refused]:
        """Take many devices' messages in one call, each on its own."""
        call = self.calls.messages(messages)
        try:
            replies = self.client.fcall(call.function, len(call.keys), *call.keys, *call.args)
        except redis.ResponseError as error:
            raise from_reply(str(error)) or error from None
        return [_reported(call, reply) for reply in cast("list[str]", replies)]

    def numbers(self) -> dict[str, int]:
        """Read the link's numbers in one look: head, accounts, counts."""
        fields = cast("dict[str, str]", self.client.hgetall(self.calls.keys.link))
        return {name: int(value) for name, value in fields.items() if _WHOLE.fullmatch(value)}

    def tables(self) -> list[str]:
        """Name the link's tables."""
        names = cast("str | None", self.client.hget(self.calls.keys.link, "tables"))
        return names.split(",") if names else []

    def snapshot(self) -> State:
        """Read the whole link in one consistent look."""
        while True:
            keys = self.calls.keys.all(self.tables())
            try:
                text = self.client.fcall_ro("pm_snapshot", len(keys), *keys)
            except redis.ResponseError as error:
                problem = from_reply(str(error)) or error
                if isinstance(problem, Refused) and problem.code == "tables_changed":
                    continue
                raise problem from None
            return read_state(cast("str", text))

    def is_audited(self) -> bool:
        """Tell whether the server would take a step of this link."""
        return bool(self.client.fcall_ro("pm_is_audited", 1, self.calls.keys.link))

    def start(self) -> str:
        """Name the present start of the server, so that an audit is known to be of it."""
        return str(self.client.fcall_ro("pm_start", 1, self.calls.keys.link))

    def journal(self, first: int, last: int | None = None) -> Iterator[tuple[int, str]]:
        """Give the journal's entries from one number to another, as far as they are kept."""
        at = first
        while True:
            found = self.client.xrange(
                self.calls.keys.journal, f"{at}-0", f"{last}-0" if last else "+", READ_AT_ONCE
            )
            rows = cast("list[tuple[str, dict[str, str]]]", found)
            for name, fields in rows:
                at = int(name.split("-")[0])
                yield at, fields["e"]
            if len(rows) < READ_AT_ONCE:
                return
            at += 1


def _answer(call: Call[A], reply: Any) -> A | Refused:  # noqa: ANN401 - what the client hands over
    if isinstance(reply, redis.ResponseError):
        problem = from_reply(str(reply)) or reply
        if isinstance(problem, Refused):
            return problem
        raise problem
    return call.decoder.decode(reply)


def _reported(call: Call[Reported], reply: str) -> Reported | Refused:
    if reply.startswith(_REFUSED):
        return from_refusal(reply[len(_REFUSED) : -1])
    return call.decoder.decode(reply)
