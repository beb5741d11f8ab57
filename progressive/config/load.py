"""Loading a site file: read all of it, list everything wrong with it, freeze what is right."""

import re
import tomllib
import zoneinfo
from dataclasses import dataclass

from progressive.config.checks import check_together
from progressive.config.links import read_link
from progressive.config.positions import positions
from progressive.config.reader import Problem, Problems, Section
from progressive.config.tables import read_table
from progressive.config.values import Site, TaxThreshold
from progressive.rules.rulebooks import RULEBOOKS

LINK_NAME = r"(?!site$)[a-z][a-z0-9-]{0,31}"
LINK_NAME_TEXT = "lower-case letters, digits and dashes, at most 32, and not the word site"
TABLE_NAME = r"[A-Za-z0-9][A-Za-z0-9-]{0,31}"
TABLE_NAME_TEXT = "letters, digits and dashes, at most 32"
# A zone of the database means the same on every machine; the system's own names do not.
TIME_ZONE = r"(?!(localtime|posixrules|Factory)$|posix/|right/)[A-Za-z0-9+_/-]{1,64}"
TIMES_WAGER = range(1, 100_001)
SIZE_MAX = 1_000_000


@dataclass(frozen=True, slots=True)
class Loaded:
    """A site, unless there were errors, and all problems in the order of the file."""

    site: Site | None
    problems: tuple[Problem, ...]


def load_site(text: str) -> Loaded:
    """Read a site file's text."""
    if len(text) > SIZE_MAX:
        return Loaded(None, (_whole_file(1, f"is longer than {SIZE_MAX:,} characters"),))
    try:
        values = tomllib.loads(text)
        problems = Problems(positions(text))
    except RecursionError:
        return Loaded(None, (_whole_file(1, "is nested too deeply"),))
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"at line (\d+)", str(error))
        last = max(1, len(text.splitlines()))
        line = min(int(found[1]), last) if found else last
        return Loaded(None, (_whole_file(line, f"is not TOML: {error}"),))
    except ValueError:  # a number that no computer should read
        longest = max(enumerate(text.splitlines(), start=1), key=lambda line: len(line[1]))
        return Loaded(None, (_whole_file(longest[0], "has a number of thousands of digits"),))
    site = _read_site(Section(values, (), problems))
    in_order = sorted(problems.found, key=lambda problem: problem.line)
    return Loaded(None if problems.errors else site, tuple(in_order))


def _whole_file(line: int, what: str) -> Problem:
    return Problem(line, "the file", what, "a TOML file of the documented form", "site file")


def _read_site(root: Section) -> Site | None:
    name = root.text("site", "the site's name, 1 to 80 characters", r"\S(.{0,78}\S)?")
    zone = _time_zone(root)
    starts = root.time("gaming_day_starts")
    jurisdiction = root.choice("jurisdiction", tuple(RULEBOOKS))
    book = RULEBOOKS.get(jurisdiction or "")
    links = {
        link: read_link(link, section, book)
        for link, section in root.sections("links", LINK_NAME, LINK_NAME_TEXT)
    }
    tables = [
        read_table(table, section, links, book)
        for table, section in root.sections("tables", TABLE_NAME, TABLE_NAME_TEXT)
    ]
    tax = _tax_thresholds(root)
    root.done()
    check_together(root, links, tables)
    if root.problems.errors or not (name and zone and starts is not None and jurisdiction):
        return None
    return Site(
        name,
        zone,
        starts,
        jurisdiction,
        tuple(draft.link for draft in links.values() if draft.link),
        tuple(draft.table for draft in tables if draft.table),
        tax,
    )


def _time_zone(root: Section) -> str | None:
    allowed = "a name of the time zone database, such as America/New_York"
    zone = root.text("time_zone", allowed, TIME_ZONE)
    if zone is None:
        return None
    try:
        zoneinfo.ZoneInfo(zone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError):
        root.note("time_zone", f"{zone!r} is not a time zone", allowed)
        return None
    return zone


def _tax_thresholds(root: Section) -> tuple[TaxThreshold, ...]:
    found: list[TaxThreshold] = []
    for section in root.array("tax_thresholds"):
        starts = section.date("from")
        report = section.money("report")
        times = section.integer("times_wager", TIMES_WAGER)
        withhold = section.money("withhold_above", needed=False)
        section.done()
        if found and starts is not None and starts <= found[-1].starts:
            section.note("from", f"{starts} is not later than the one before", "ascending dates")
        if starts is not None and report is not None and times is not None:
            found.append(TaxThreshold(starts, report, times, withhold))
    return tuple(found)
