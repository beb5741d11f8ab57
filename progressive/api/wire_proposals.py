"""What may be proposed, one type a kind: nothing is agreed on that cannot be carried out."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from meters.definitions import TableDefinition, Terms
from meters.money import AMOUNT_MAX, PPM
from progressive.api.wire import Body, Name, Number, Reason, Seat

Amount = Annotated[int, Meta(ge=1, le=AMOUNT_MAX)]
UpOrDown = Annotated[int, Meta(ge=-AMOUNT_MAX, le=AMOUNT_MAX)]


class Adjust(Body, frozen=True, kw_only=True, omit_defaults=True):
    """Money from the house to a level, or back where the amount is below zero."""

    level: Name
    amount_micros: UpOrDown
    part: Literal["meter", "reserve", "overflow"] = "meter"


class Transfer(Body, frozen=True, kw_only=True, omit_defaults=True):
    """Money from one level to another, of this link or of `to_link`."""

    level: Name
    to: Name
    amount_micros: Amount
    to_link: Name | None = None


class Limit(Body, frozen=True, kw_only=True):
    """A new limit, above what the meter shows; in force at once."""

    level: Name
    limit_micros: Amount


class LevelDefinition(Body, frozen=True, kw_only=True):
    """A level as it is to be; what only fits together or not is told when it is proposed."""

    name: Name
    seed_micros: Amount
    reset_micros: Amount
    increment_ppm: Annotated[int, Meta(ge=1, le=PPM)]
    reserve_ppm: Annotated[int, Meta(ge=0, le=PPM)]
    limit_micros: Amount | None
    contribution_max_micros: Amount
    maximum_micros: Amount | None = None
    distribution: dict[str, Any] | None = None
    closed: bool = False


class ChangedLevel(Body, frozen=True, kw_only=True):
    """A level's whole new definition, in force at its next full reset; its limit is not changed."""

    definition: LevelDefinition


class ChangedTable(Body, frozen=True, kw_only=True):
    """A closed table's whole new definition, or a new table's."""

    definition: TableDefinition


class ChangedTerms(Body, frozen=True, kw_only=True):
    """Another paytable or other pay limits, with every table closed."""

    terms: Terms


class Decommission(Body, frozen=True, kw_only=True, omit_defaults=True):
    """A level that goes; what the players built goes on to another level, or else to the house."""

    level: Name
    to: Name | None = None


class NamedAward(Body, frozen=True, kw_only=True):
    """A pending award."""

    award: Number


class HandAward(Body, frozen=True, kw_only=True):
    """A win that was found after its round had ended."""

    table: Name
    round: Number
    seat: Seat
    line: Annotated[str, Meta(min_length=1, max_length=64)]


class Proposal(Body, frozen=True, kw_only=True, tag_field="what"):
    """Something that two persons must agree on, under the next number."""

    number: Number
    reason: Reason
    body: Any

    @property
    def what(self) -> str:
        """Name the kind of it."""
        return str(self.__struct_config__.tag)


class ProposeAdjust(Proposal, frozen=True, kw_only=True, tag="adjust"):
    """Adjust a meter, against the house."""

    body: Adjust


class ProposeTransfer(Proposal, frozen=True, kw_only=True, tag="transfer"):
    """Move money between levels."""

    body: Transfer


class ProposeLimit(Proposal, frozen=True, kw_only=True, tag="limit"):
    """Change a level's limit."""

    body: Limit


class ProposeLevel(Proposal, frozen=True, kw_only=True, tag="level"):
    """Change a level's parameters."""

    body: ChangedLevel


class ProposeTable(Proposal, frozen=True, kw_only=True, tag="table"):
    """Change a table, or add one."""

    body: ChangedTable


class ProposeTerms(Proposal, frozen=True, kw_only=True, tag="terms"):
    """Change the paytable or who may pay what."""

    body: ChangedTerms


class ProposeDecommission(Proposal, frozen=True, kw_only=True, tag="decommission"):
    """Take a level away."""

    body: Decommission


class ProposePay(Proposal, frozen=True, kw_only=True, tag="pay"):
    """Pay an award above what one person may pay."""

    body: NamedAward


class ProposeVoidAward(Proposal, frozen=True, kw_only=True, tag="void_award"):
    """Void an award that was not won; its money goes back."""

    body: NamedAward


class ProposeHandAward(Proposal, frozen=True, kw_only=True, tag="hand_award"):
    """Award by hand."""

    body: HandAward


KINDS: tuple[type[Proposal], ...] = (
    ProposeAdjust, ProposeTransfer, ProposeLimit, ProposeLevel, ProposeTable, ProposeTerms,
    ProposeDecommission, ProposePay, ProposeVoidAward, ProposeHandAward,
)  # fmt: skip
AnyProposal = (
    ProposeAdjust
    | ProposeTransfer
    | ProposeLimit
    | ProposeLevel
    | ProposeTable
    | ProposeTerms
    | ProposeDecommission
    | ProposePay
    | ProposeVoidAward
    | ProposeHandAward
)


def read_body(what: str, text: str) -> Any:  # noqa: ANN401 - as the kind says
    """Read the body of a proposal that is stored, which may be from before bodies were checked."""
    kind = next(each for each in KINDS if each.__struct_config__.tag == what)
    fields = {field.name: field.type for field in msgspec.structs.fields(kind)}
    return msgspec.json.decode(text, type=fields["body"])
