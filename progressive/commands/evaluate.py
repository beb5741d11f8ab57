"""`progressive evaluate`: rounds in, lines and settled wagers out, as JSON lines."""

import sys
from fractions import Fraction
from io import BufferedReader
from typing import Any

import click

from meters.money import PPM, MoneyError, parse_rate
from progressive.commands.stream import CLOSED, Stream
from progressive.evaluate import Setup, evaluate_lines, lines_of
from progressive.rules.royal9 import PAYTABLES
from progressive.rules.rulebooks import DESIGNATIONS, RULEBOOKS, SEATS_MAX
from progressive.rules.settlement import EXACT, QUARTER, TIE_PAYS_MAX, TIE_PAYS_MIN, Terms


class Rate(click.ParamType[int]):
    """An option such as `50 %`, in parts per million."""

    name = "RATE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Read a rate."""
        try:
            return parse_rate(str(value))
        except MoneyError as error:
            self.fail(str(error), param, ctx)


@click.command()
@click.argument("source", type=Stream("rb"), default="-")
@click.option("--paytable", type=click.Choice(list(PAYTABLES)), default="MD-C", show_default=True)
@click.option(
    "--table-seats",
    type=click.IntRange(1, SEATS_MAX),
    help="Seats of the table.  [default: 7, or 9 in the multi-level edition]",
)
@click.option("--decks", type=click.IntRange(6, 8), default=8, show_default=True)
@click.option(
    "--designation",
    type=click.Choice(list(DESIGNATIONS)),
    help="Settle as a table of this designation, refusing wagers it does not take.",
)
@click.option(
    "--jurisdiction",
    type=click.Choice(list(RULEBOOKS)),
    help="Refuse wagers that this rulebook does not have.",
)
@click.option(
    "--vigorish",
    type=click.Choice([EXACT, QUARTER]),
    default=EXACT,
    show_default=True,
    help="5 %, exact or rounded up to the next 25 cents.",
)
@click.option(
    "--tie-pays",
    type=click.IntRange(TIE_PAYS_MIN, TIE_PAYS_MAX),
    default=TIE_PAYS_MIN,
    show_default=True,
    help="What Tie pays to one.",
)
@click.option(
    "--house-money-portion",
    type=Rate(),
    default="100 %",
    show_default=True,
    help="Part of a House Money payout that may be moved onto a main wager.",
)
def evaluate(  # noqa: PLR0913 - one parameter an option
    source: BufferedReader,
    *,
    paytable: str,
    table_seats: int | None,
    decks: int,
    designation: str | None,
    jurisdiction: str | None,
    vigorish: str,
    tie_pays: int,
    house_money_portion: int,
) -> None:
    """Evaluate rounds: one JSON object per line in, one out.

    \b
    In:  {"player":["KS","9H"],"banker":["KS","9H"],"seats":[1,3]}
         and, if wanted, "combinations":{"1":"KS 9H"} for seats that have their own and
         "wagers":[{"seat":1,"wager":"dragon_bonus","on":"player","paytable":"A","amount":"25.00"}]
    Out: {"player_points":9,"banker_points":9,"outcome":"tie",
          "lines":{"1":"star","3":"other_king9"},"pays":{...},"wagers":[...]}

    A hand has two or three cards. While a card is still to come, "outcome" is null and "next_card"
    says who draws; the Royal 9 lines need the first four cards only. A line that cannot be
    evaluated is answered with {"error":...,"line":N}, the stream goes on, and the exit code is 1.
    """
    if sys.stdout is None:
        raise click.UsageError(CLOSED)
    table = PAYTABLES[paytable]
    seats = table_seats or table.seats_default
    book = RULEBOOKS[jurisdiction] if jurisdiction else None
    if book and designation not in (None, *book.designations):
        raise click.UsageError(f"{book.section('designation')} has {', '.join(book.designations)}")
    if book and not book.tie_may_pay_more and tie_pays != TIE_PAYS_MIN:
        raise click.UsageError(f"{book.section('tie')}: Tie pays {TIE_PAYS_MIN}")
    terms = Terms(
        designation=designation,
        rulebook=book,
        vigorish=vigorish,
        tie_pays=tie_pays,
        house_money_portion=Fraction(house_money_portion, PPM),
        limits=book.limits if book else {},
        seats=seats,
    )
    bad = False
    out = sys.stdout.buffer
    lines = lines_of(source, out.flush)  # who asks may be waiting for the answers before asking on
    for answer, fine in evaluate_lines(lines, Setup(table, seats, decks, terms)):
        out.write(answer + b"\n")
        bad = bad or not fine
    sys.exit(1 if bad else 0)
