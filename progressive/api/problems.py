"""Problems as RFC 9457 documents: every code, its status, and what to do about it."""

from typing import Any, Final, NamedTuple

import msgspec

from meters.errors import Refused

MEDIA_TYPE: Final = "application/problem+json"
TYPE_PREFIX: Final = "urn:progressive:problem:"


class Kind(NamedTuple):
    """What a code means to whoever gets it."""

    status: int
    title: str
    remedy: str


# The code is stable; title and remedy are for people.
KINDS: Final[dict[str, Kind]] = {
    # who asks
    "unsigned": Kind(401, "The request is not signed", "Send Device, Time and Signature headers."),
    "unknown_device": Kind(401, "No such device", "Have the device added by a technician."),
    "revoked_device": Kind(401, "The device was revoked", "Have the device added anew."),
    "wrong_signature": Kind(401, "The signature is wrong", "Check the key and what was signed."),
    "clock_skew": Kind(401, "The time is too far off", "Set the clock to `server_time_ms`."),
    "not_logged_in": Kind(401, "Nobody is logged in", "Log in, or send a token."),
    "wrong_password": Kind(401, "Name or password is wrong", "Try again; five wrong ones lock."),
    "locked_out": Kind(429, "The name is locked", "Wait a quarter of an hour."),
    "csrf": Kind(403, "The request is not from our own page", "Send the X-CSRF-Token header."),
    "not_allowed": Kind(403, "Your role does not allow this", "Ask somebody whose role does."),
    "other_table": Kind(403, "The device belongs to another table", "Name the device's own table."),
    "same_person": Kind(403, "Another person is needed", "Have somebody else approve it."),
    "second_person_needed": Kind(403, "Two persons are needed", "Propose it; another approves."),
    "person_needed": Kind(403, "A program cannot do this", "Log in as the person who does it."),
    # what is asked
    "not_found": Kind(404, "There is no such address", "See /v1/openapi.json."),
    "wrong_method": Kind(405, "The address does not take this method", "See /v1/openapi.json."),
    "too_large": Kind(413, "The body is too large", "Send fewer messages at once."),
    "wrong_type": Kind(415, "The body is not JSON", "Send Content-Type: application/json."),
    "bad_body": Kind(422, "The body is not as documented", "Mend what `detail` names."),
    "bad_query": Kind(422, "A parameter is not as documented", "Mend what `detail` names."),
    "too_many_requests": Kind(429, "Too many requests", "Wait as long as Retry-After says."),
    "bad_call": Kind(409, "This cannot be asked", "Mend what `detail` names."),
    "bad_amount": Kind(409, "That is no amount", "Send whole micro-dollars."),
    "unknown_user": Kind(404, "There is no such user", "Look at the list of users."),
    "no_such_device": Kind(404, "There is no such device", "Look at the list of devices."),
    "one_table": Kind(409, "Such a device belongs to one table", "Name one table."),
    "device_exists": Kind(409, "The device exists", "Rotate its key instead."),
    # the state it meets
    "unknown_link": Kind(404, "There is no such link", "Look at the list of links."),
    "unknown_table": Kind(404, "There is no such table", "Look at the list of tables."),
    "unknown_level": Kind(404, "There is no such level", "Look at the link's levels."),
    "unknown_line": Kind(409, "There is no such line", "Look at the link's paytable."),
    "unknown_round": Kind(404, "There is no such round", "Look at the list of rounds."),
    "unknown_award": Kind(404, "No such award is pending", "Look at the list of awards."),
    "unknown_entry": Kind(404, "There is no such entry", "Look how far the log is sealed."),
    "unknown_day": Kind(404, "Nothing was entered in that day", "Look at the list of days."),
    "unknown_proposal": Kind(404, "No such proposal is open", "Look at the list of proposals."),
    "seat_out_of_range": Kind(409, "The table has no such seat", "Name a seat of the table."),
    "stale_round": Kind(409, "The round is over", "Go on with the table's present round."),
    "round_ahead": Kind(409, "The round has not begun", "Go on with the table's present round."),
    "wrong_phase": Kind(409, "The round cannot take this step now", "Look where the round stands."),
    "conflict": Kind(409, "This was done before, otherwise", "Look what was done first."),
    "seats_mismatch": Kind(409, "Screen and sensors disagree", "Look at the seats and lock again."),
    "no_wagers_in_a_free_round": Kind(409, "A free round has no wagers", "Have them taken off."),
    "card_not_in_shoe": Kind(409, "The card is not in the shoe", "Check it, or note the new shoe."),
    "correction_number": Kind(409, "Another correction came first", "Use the next number."),
    "table_closed": Kind(409, "The table is closed", "Have it opened."),
    "table_not_closed": Kind(409, "The table is open", "Close it first."),
    "table_twice": Kind(409, "A table speaks twice in the batch", "Send one message a table."),
    "level_closed": Kind(409, "The level was decommissioned", "Ask the cage."),
    "rounds_open": Kind(409, "Rounds are still locked", "End or void them first."),
    "round_not_over": Kind(409, "The round is not over", "End it, or correct or void it."),
    "not_enough": Kind(409, "The meter holds less than that", "Transfer less."),
    "limit_below_meter": Kind(409, "The limit is not above the meter", "Choose a higher limit."),
    "amount_out_of_bounds": Kind(409, "The amount is out of bounds", "Ask for less."),
    "unreasonable_contribution": Kind(409, "The contribution is unreasonable", "Check the rates."),
    "shoe_number": Kind(409, "Another shoe came first", "Use the next number."),
    "shoe_over": Kind(409, "The shoe is over", "Void the round; record a new shoe."),
    "not_automated": Kind(409, "The table's cards are dealt by hand", "Record them with deal."),
    "proposal_number": Kind(409, "Another proposal came first", "Use the next number."),
    "proposal_settled": Kind(409, "The proposal was settled", "Look at the journal."),
    "sequence_reused": Kind(409, "The sequence was used for something else", "Mend the firmware."),
    "epoch_lower": Kind(409, "The device has begun a later epoch", "Say hello with a higher one."),
    # whether anything can be taken at all
    "not_audited": Kind(503, "The link awaits its audit", "Wait; wagers are not lost."),
    "link_down": Kind(503, "The store does not answer", "Wait; wagers are not lost."),
    "not_sealed": Kind(404, "Nothing is sealed yet", "Wait a second, or start the sealer."),
    "defect": Kind(500, "The controller failed", "Call a technician; the log has `request`."),
}


class Problem(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An RFC 9457 problem document."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    remedy: str
    request: str = ""
    facts: dict[str, Any] = {}


class ProblemError(Exception):
    """A problem that a handler meets; the application answers with its document."""

    def __init__(self, code: str, detail: str, **facts: Any) -> None:  # noqa: ANN401 - JSON values
        super().__init__(f"{code}: {detail}")
        self.code, self.detail, self.facts = code, detail, facts


def document(code: str, detail: str, facts: dict[str, Any], request: str = "") -> Problem:
    """Write a problem down."""
    kind = KINDS[code]
    return Problem(
        type=TYPE_PREFIX + code,
        title=kind.title,
        status=kind.status,
        detail=detail,
        code=code,
        remedy=kind.remedy,
        request=request,
        facts=facts,
    )


def of_refusal(refusal: Refused, request: str = "") -> Problem:
    """Write a refusal of the meters down."""
    code = refusal.code if refusal.code in KINDS else "bad_call"
    return document(code, refusal.message, refusal.detail, request)
