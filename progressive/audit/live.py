"""What can be checked only while the server is there: its totals, and its journal with the log."""

import msgspec

from meters.replay import Progress, audit
from progressive.audit.folder import LogFolder
from progressive.audit.stream import JournalGap, JournalStream

BATCH_ENTRIES = 5_000
AUDITS = 3


class LiveCheck(msgspec.Struct, frozen=True, kw_only=True):
    """What was found out about a journal and its log."""

    journal: str
    head: int  # the journal's last entry
    sealed: int
    compared: int  # entries that both have
    problems: list[str]


def check_link(
    stream: JournalStream, log: LogFolder, progress: Progress | None = None
) -> LiveCheck:
    """Audit a link's totals and compare its journal with the log.

    A link that was closed and is exact is open afterwards, as after any audit.
    """
    found = check_journal(stream, log)
    for _ in range(AUDITS):
        balance = stream.meters.numbers().get("balance")
        audited = audit(stream.meters, log.size, progress)
        if audited.is_exact or stream.meters.numbers().get("balance") == balance:
            break  # else a new balance was sealed meanwhile, and the old one trimmed away
    problems = [*found.problems, *(one for one in audited.problems if one not in found.problems)]
    return msgspec.structs.replace(found, problems=problems)


def check_journal(stream: JournalStream, log: LogFolder) -> LiveCheck:
    """Compare every entry that the server still has with the sealed one."""
    first, head = stream.ends()
    problems = []
    if head < log.size:
        problems.append(
            f"the seal holds {log.size} entries and this server {head}: it is behind its seal. "
            "Restore the newest data; do not go on from here"
        )
    elif first > log.size + 1:
        problems.append(f"entries {log.size + 1} to {first - 1} are neither sealed nor here")
    last = min(head, log.size)
    try:
        differs = _first_difference(stream, log, max(first, 1), last)
    except JournalGap as gap:
        problems.append(str(gap))
    else:
        if differs:
            problems.append(f"entry {differs} of the journal is not the one that was sealed")
    compared = max(0, last - first + 1) if first else 0
    return LiveCheck(
        journal=stream.meters.link, head=head, sealed=log.size, compared=compared, problems=problems
    )


def _first_difference(stream: JournalStream, log: LogFolder, first: int, last: int) -> int | None:
    for at in range(first, last + 1, BATCH_ENTRIES):
        held = stream.read(at, min(BATCH_ENTRIES, last - at + 1))
        for number, sealed in enumerate(log.entries(at - 1, at - 1 + len(held)), at):
            if sealed != held[number - at]:
                return number
    return None
