"""The rules submission: the sheet that an operator files."""

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import progressive
from progressive.cli import main

EXAMPLE = Path(progressive.__file__).with_name("example.toml")


def run(*arguments: str | Path, code: int = 0) -> Result:
    """Run the program in this process and insist on its exit code."""
    done = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert done.exit_code == code, done.output
    return done


def test_a_bad_site_gets_no_submission_sheet(tmp_path: Path) -> None:
    site, sheet = tmp_path / "site.toml", tmp_path / "sheet.md"
    site.write_text('site = "x"', encoding="utf-8")
    run("check", site, "--submission", sheet, code=1)
    assert not sheet.exists()


def test_a_sheet_that_cannot_be_written_is_said_in_a_sentence(tmp_path: Path) -> None:
    sheet = tmp_path / "missing" / "sheet.md"
    done = run("check", EXAMPLE, "--submission", sheet, code=2)
    assert done.stderr == f"Error: {sheet}: No such file or directory\n"


def test_the_site_file_is_never_overwritten_by_its_own_submission(tmp_path: Path) -> None:
    site = tmp_path / "site.toml"
    site.write_bytes(EXAMPLE.read_bytes())
    assert "would overwrite" in run("check", site, "--submission", site, code=2).stderr
    assert site.read_bytes() == EXAMPLE.read_bytes()


def test_the_submission_says_all_that_is_filed(tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.md"
    run("check", EXAMPLE, "--submission", sheet)
    text = sheet.read_text(encoding="utf-8")
    assert "Royal 9, paytable MD-C" in text
    assert "| star | $50,000.00 | $50,000.00 | 9.00 % | 2.00 % | $5,000,000.00 |" in text
    assert "| spade | $450.00 | $450.00 | 5.00 % |" in text
    assert "| heart | $450.00 | $450.00 | 5.00 % |" in text
    assert "- Reset $250.00, maximum $1,000.00" in text
    assert "- House edge at the seeds 35.9635 %" in text
    assert "- Simultaneous wins: decided in the order of the journal" in text
    assert "| Dragon Bonus on player | A | 8 |" in text
    assert "2.6517 %" in text


MASSACHUSETTS = """
site = "Charles River"
time_zone = "America/New_York"
gaming_day_starts = "04:00"
jurisdiction = "{jurisdiction}"
[links.k9]
paytable = "{paytable}"
decks = 8
simultaneous_wins = "full_amount_to_each"
simultaneous_seconds = 60
[links.k9.levels]
star = {{ seed = 60000, reset = 50000, increment = "9 %" }}
spade = {{ seed = "$500.00", reset = "$450.00", increment = "5 %" }}
heart = {{ seed = "$450.00", reset = "$450.00", increment = "5 %" }}
[tables.T1]
asset = "1"
kind = "live"
link = "k9"
seats = {seats}
[tables.T1.wagers]
tie = {{ pays = 9 }}
house_money = {{ portion = "50 %" }}
"""
ILANI = """
site = "Cowlitz"
time_zone = "America/Los_Angeles"
gaming_day_starts = 06:00:00
jurisdiction = "ilani"
[tables.ETG-1]
asset = "E1"
kind = "automated"
seats = 9
decks = 8
wagers = { emperor_bonus = {}, koi_7 = {}, frog_6 = {}, super_6 = { max = 50 }, any_pair = {} }
"""


@pytest.mark.parametrize(
    ("site", "filed"),
    [
        (
            MASSACHUSETTS.format(jurisdiction="MA", paytable="MA-K9", seats=7),
            (
                "- House Money: up to 50.00 % of a payout may be added to Banker or Player",
                "| Tie | standard | 8 | win 9 | 4.8440 % |",
                "- Simultaneous wins: within 60 seconds of a level's first 100 % award",
                "| other_king9 | 18,816 | 392,197.23 | $5,000.00 |",
            ),
        ),
        (
            MASSACHUSETTS.format(jurisdiction="MA-old", paytable="MA-1", seats=9),
            (
                "| exact_match | 9,408 | 784,394.46 | 100 % of star |",
                "| any_two | 21,504 | 343,172.58 | 10 % of star |",
                "9 K♦ 9♥",
            ),
        ),
        (
            ILANI,
            (
                "No Commission, no vigorish, Banker winning on 6 pays 1:2",
                "| Koi 7 | standard | $1.00 | $25.00 |",
                "| Any Pair on banker | ilani | 8 | pair 10 | 17.8313 % |",
            ),
        ),
    ],
    ids=["MA", "MA-old", "ilani"],
)
def test_a_site_of_each_rulebook_files_what_its_rulebook_asks_for(
    site: str, filed: tuple[str, ...], tmp_path: Path
) -> None:
    path, sheet = tmp_path / "site.toml", tmp_path / "sheet.md"
    path.write_text(site, encoding="utf-8")
    run("check", path, "--submission", sheet)
    text = sheet.read_text(encoding="utf-8")
    for words in filed:
        assert words in text


def test_the_same_site_always_gives_the_same_submission(tmp_path: Path) -> None:
    sheets = [tmp_path / "one.md", tmp_path / "two.md"]
    for sheet in sheets:
        run("check", EXAMPLE, "--submission", sheet)
    assert sheets[0].read_bytes() == sheets[1].read_bytes()
