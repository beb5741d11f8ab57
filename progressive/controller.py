"""The use-cases of a link: the one place where rules, draws and meters meet."""

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

import msgspec

from meters.answers import Dealt, Due, Ended, Locked, NewShoe, Proposed, Reported
from meters.calls import Draw, Message, SealedShoe
from meters.definitions import LinkDefinition
from meters.errors import Refused
from meters.levels import Level
from meters.link import Meters
from meters.state import State
from progressive.definition import draw_parameters
from progressive.draws import must_hit, shoe
from progressive.draws.drbg import Source
from progressive.draws.scaling import DrawError
from progressive.draws.secret import DrawSecret
from progressive.draws.vault import Vault
from progressive.rules.baccarat import Round, RoundError, round_of
from progressive.rules.cards import ALL_CARDS, Hand, hand
from progressive.rules.royal9 import PAYTABLES, Seating, combination
from progressive.rules.rulebooks import Rulebook
from progressive.rules.shoe import new_shoe

AUTOMATED: Final = "automated"
DECIDE_TRIES: Final = 100  # an end that keeps losing the race is a defect, not bad luck


class Controller:
    """A link at work: what a dealer, a supervisor and the sensors of its tables can do."""

    def __init__(self, meters: Meters, vault: Vault, source: Source, book: Rulebook) -> None:
        self.meters = meters
        self.vault = vault
        self.source = source
        self.book = book
        self._known: State | None = None

    def open_link(self, definition: LinkDefinition, by: str) -> None:
        """Open the link with its seeds, and commit to Must Hit's first two cycles."""
        commits = [
            self._fresh_cycle(definition.link, level.name, number)
            for level in definition.levels
            if level.maximum_micros
            for number in (1, 2)
        ]
        self.meters.run(self.meters.calls.open_link(definition, by, commits))

    def _fresh_cycle(self, link: str, level: str, number: int) -> tuple[str, str]:
        """Draw a cycle's secret: its commitment, and its ciphertext."""
        cycle = must_hit.Cycle(link, level, number)
        secret = DrawSecret.fresh(self.source)
        sealed = self.vault.seal(secret, must_hit.seal_context(cycle), self.source)
        return must_hit.commit(cycle, secret), sealed

    def report(self, messages: Sequence[Message]) -> list[Reported | Refused]:
        """Take the messages of many devices."""
        return self.meters.report(messages)

    def lock(
        self, table: str, round_: int, seats: Collection[int], by: str, kind: str = "played"
    ) -> Locked:
        """No more bets, naming the seats that the dealer's screen showed."""
        return self.meters.run(self.meters.calls.lock(table, round_, by, seats, kind))

    def deal(self, table: str, round_: int, player: Hand, banker: Hand, by: str) -> Dealt:
        """Record the first four cards; the rules decide every bettor's line."""
        lines = self._lines(table, player, banker)
        hands = "".join(player), "".join(banker)
        return self.meters.run(self.meters.calls.deal(table, round_, by, hands, lines))

    def correct(  # noqa: PLR0913 - a correction has these parts
        self, table: str, round_: int, number: int, *, player: Hand, banker: Hand, by: str
    ) -> Dealt:
        """Correct a misread card before the round ends."""
        lines = self._lines(table, player, banker)
        hands = "".join(player), "".join(banker)
        call = self.meters.calls.correct(table, round_, by, number, hands=hands, lines=lines)
        return self.meters.run(call)

    def _lines(self, table: str, player: Hand, banker: Hand) -> dict[int, str]:
        due = self.meters.run(self.meters.calls.due(table))
        played = round_of(player, banker)
        seating = self.seating(table)
        return {seat: seating.line(seat, played) for seat in due.seats}

    def seating(self, table: str) -> Seating:
        """Give the combinations that are printed at a table's seats."""
        known = self.known()
        if table not in known.tables:
            raise Refused("unknown_table", f"{table} is not a table of this link")
        own = tuple(combination(text) for text in known.tables[table].definition.combinations)
        return Seating(PAYTABLES[known.terms.paytable].edition, own)

    def known(self) -> State:
        """Read the link's definition, anew only when it has changed."""
        config = int(self.meters.client.hget(self.meters.calls.keys.link, "config") or 0)
        if self._known is None or self._known.numbers["config"] != config:
            self._known = self.meters.snapshot()
        return self._known

    def last_known(self) -> State:
        """Give the definition as it was last read: good for what never changes, such as tables."""
        return self._known or self.known()

    def end(self, table: str, round_: int, by: str, more: str = "") -> Ended:
        """End a round: tray awards are paid, and Must Hit is decided on what is so right now."""
        calls = self.meters.calls
        for _ in range(DECIDE_TRIES):
            due = self.meters.run(calls.due(table))
            draw = self._decide(table, due) if due.round == round_ else None
            decided = due.present, due.earlier
            try:
                return self.meters.run(
                    calls.end(table, round_, by, more, decided=decided, draw=draw)
                )
            except Refused as refusal:
                if refusal.code != "decide_again":
                    raise
        raise RuntimeError(f"Must Hit could not be decided for round {round_} of {table}")

    def _decide(self, table: str, due: Due) -> Draw | None:
        """Decide whether this round takes Must Hit, and which of its bettors."""
        level = self._must_hit()
        if level is None or due.phase != "dealt" or due.cycle != due.present or not due.seats:
            return None
        cycle = must_hit.Cycle(self.meters.link, level.name, due.present)
        secret = self.vault.open_(due.sealed, must_hit.seal_context(cycle))
        before = _hands(due.opening_cards) if due.opening_cards else None
        trigger = must_hit.draw_trigger(cycle, secret, draw_parameters(level), due.opening, before)
        if not must_hit.won(due.value, trigger) or _is_earlier_turn(due, trigger):
            return None
        won = must_hit.WonRound(table, due.round, _hands(due.first), due.seats)
        seat = must_hit.draw_winner(cycle, secret, won).seat
        commit, sealed = self._fresh_cycle(self.meters.link, level.name, due.present + 2)
        shown = secret.reveal()
        return Draw(seat=seat, secret=shown[0], salt=shown[1], commit=commit, ciphertext=sealed)

    def _must_hit(self) -> Level | None:
        levels = self.known().levels.values()
        return next((level for level in levels if level.maximum_micros and not level.closed), None)

    def approve(self, number: int, by: str, tables: Collection[str] = ()) -> Proposed:
        """Agree as the second person; a Must Hit that goes reveals the cycles that it leaves."""
        for _ in range(DECIDE_TRIES):
            call = self.meters.calls.approve(number, by, tables, self._left_by(number))
            try:
                return self.meters.run(call)
            except Refused as refusal:
                if refusal.code != "decide_again":
                    raise
        raise RuntimeError(f"what proposal {number} leaves could not be revealed")

    def _left_by(self, number: int) -> dict[str, dict[str, str]] | None:
        """Open the secrets that a decommission of Must Hit leaves without an award."""
        state = self.meters.snapshot()
        proposal = next((each for each in state.proposals if each.number == number), None)
        if proposal is None or proposal.what != "decommission":
            return None
        level = state.levels.get(str(msgspec.json.decode(proposal.body).get("level")))
        if level is None or not level.maximum_micros or level.closed:
            return None
        kept = self.meters.client.hgetall(self.meters.calls.keys.secrets)
        shown = {}
        for cycle in state.commits:
            name = must_hit.Cycle(self.meters.link, level.name, int(cycle))
            secret = self.vault.open_(str(kept[cycle]), must_hit.seal_context(name))
            shown[cycle] = dict(zip(("secret", "salt"), secret.reveal(), strict=True))
        return shown

    def new_shoe(self, table: str, number: int, by: str) -> NewShoe:
        """Change the cards; an automated table's are committed to, and the last ones revealed."""
        definition = self.known().tables[table].definition
        if definition.kind != AUTOMATED:
            return self.meters.run(self.meters.calls.shoe(table, number, by))
        name = shoe.ShoeName(self.meters.link, table, number, definition.decks)
        secret = DrawSecret.fresh(self.source)
        due = self.meters.run(self.meters.calls.due(table))
        last = self._shoe_secret(table, due).reveal() if due.shoe_sealed else ("", "")
        sealed = SealedShoe(
            commit=shoe.commit(name, secret),
            ciphertext=self.vault.seal(secret, shoe.seal_context(name), self.source),
            last_secret=last[0],
            last_salt=last[1],
        )
        return self.meters.run(self.meters.calls.shoe(table, number, by, sealed))

    def _shoe_secret(self, table: str, due: Due) -> DrawSecret:
        name = self._shoe_name(table, due)
        return self.vault.open_(due.shoe_sealed, shoe.seal_context(name))

    def _shoe_name(self, table: str, due: Due) -> shoe.ShoeName:
        decks = self.known().tables[table].decks
        return shoe.ShoeName(self.meters.link, table, due.shoe, decks)

    def deal_drawn(self, table: str, round_: int, by: str) -> tuple[Round, Dealt]:
        """Deal a locked round from an automated table's shoe; a repeat gives the same."""
        if table in self.known().tables and self.known().tables[table].definition.kind != AUTOMATED:
            raise Refused("not_automated", f"{table} has no shoe of the controller's")
        due = self.meters.run(self.meters.calls.due(table))
        if due.round != round_:
            code = "stale_round" if round_ < due.round else "round_ahead"
            raise Refused(code, f"the table is at round {due.round}", {"round": due.round})
        played = self.draw_round(table)
        return played, self.deal(table, round_, played.player[:2], played.banker[:2], by)

    def draw_round(self, table: str) -> Round:
        """Draw a locked round's cards from an automated table's shoe; a repeat draws the same."""
        due = self.meters.run(self.meters.calls.due(table))
        if due.phase == "open" or not due.line or not due.shoe_sealed:
            raise Refused("wrong_phase", f"{table} has no locked round to draw cards for")
        name = self._shoe_name(table, due)
        dealt_now = [due.cards[at : at + 2] for at in range(0, len(due.cards), 2)]
        left = tuple(
            name.decks - int(seen) + dealt_now.count(card)
            for card, seen in zip(ALL_CARDS, due.counts, strict=True)
        )
        gone = name.decks * len(ALL_CARDS) - sum(left)
        # Whether the cover card is out is for whoever runs the table to watch.
        at = shoe.AutomatedShoe(name, replace(new_shoe(self.book, name.decks), dealt=gone), left)
        lock = shoe.Lock(due.round, hashlib.sha256(due.line.encode()).hexdigest())
        try:
            dealt, _ = at.deal(self._shoe_secret(table, due), lock)
        except (DrawError, RoundError) as error:
            raise Refused("shoe_over", str(error)) from None
        return dealt.played


def _hands(cards: str) -> must_hit.Dealt:
    four = hand(" ".join(cards[at : at + 2] for at in range(0, len(cards), 2)))
    return must_hit.Dealt(four[:2], four[2:])


def _is_earlier_turn(due: Due, trigger: must_hit.Trigger) -> bool:
    """Tell whether a round that locked earlier is still open and could take the award."""
    for text in due.earlier.split(";") if due.earlier else ():
        _, _, cycle, value = text.rsplit(" ", 3)
        if int(cycle) == due.present and must_hit.won(int(value), trigger):
            return True
    return False
