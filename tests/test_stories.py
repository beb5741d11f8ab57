"""Floor stories in plain words, played on a real server; stories/README.md teaches the words."""

from collections import defaultdict
from pathlib import Path

import pytest
from journals import write_log
from pit import play
from redis import Redis
from sentences import LANGUAGE
from story import Story, StoryError

from progressive.audit import verifier
from progressive.audit.note import Signer
from progressive.draws.vault import Vault, make
from progressive.rules.royal9 import LINES, PAYTABLES

FOLDER = Path(__file__).parent / "stories"
FILES = sorted(FOLDER.glob("*.txt"))
STORIES_MIN = 25

BEGINNING = """Title: A small floor
Link royal plays MD-C with 8 decks; star opens at $50,000.00, spade at $450.00, heart at $450.00
Increments: star 9 %, spade 5 %, heart 5 %
Table A has 7 seats
"""  # four lines: what a test adds begins in line 5


def read(path: Path) -> Story:
    return LANGUAGE.read(f"tests/stories/{path.name}", path.read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Vault:
    return make(tmp_path_factory.mktemp("keys") / "draws.key", cycle_open=False)


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_a_story_comes_true_and_the_verifier_agrees(
    path: Path, client: Redis, vault: Vault, tmp_path: Path
) -> None:
    signer = Signer("floor.example/story", bytes(32))
    keys = verifier.read_keys([str(signer.verifier)])
    for link, lines in play(read(path), client, vault).items():
        assert lines
        [report] = verifier.verify_folder(
            write_log(tmp_path / link, lines, signer), keys, lambda _done, _of: None
        )
        assert [str(problem) for problem in report.problems] == []


def test_there_are_stories_for_all_that_happens_on_a_floor() -> None:
    assert len(FILES) >= STORIES_MIN
    titles = [read(path).title for path in FILES]
    assert len(set(titles)) == len(titles)


def test_every_line_of_every_paytable_is_told_in_some_story() -> None:
    told: dict[str, set[str]] = defaultdict(set)
    for path in FILES:
        sentences = read(path).sentences
        paytables = {s.words["paytable"] for s in sentences if "paytable" in s.words}
        if len(paytables) == 1:
            lines = {s.words["line"] for s in sentences if "win(s)" in s.phrase.text}
            lost = {"loss" for s in sentences if "lose(s)" in s.phrase.text}
            told[paytables.pop()] |= lines | lost
    for name, paytable in PAYTABLES.items():
        assert set(LINES[paytable.edition]) <= told[name], name


def test_every_sentence_is_taught_and_used() -> None:
    taught = (FOLDER / "README.md").read_text(encoding="utf-8")
    used = {sentence.phrase.text for path in FILES for sentence in read(path).sentences}
    for phrase in LANGUAGE.phrases:
        assert f"`{phrase.text}`" in taught
        assert phrase.text in used


@pytest.mark.parametrize(
    ("added", "why"),
    [
        ("Seat 1 bets on A", "bet(s) at {table}"),
        ("The dealer locks table A", "{person} locks"),
        ("Cards at A: Player K♠, Banker 9X 9♥", "Cards at {table}"),
    ],
)
def test_an_unknown_sentence_is_shown_the_nearest_known_one(added: str, why: str) -> None:
    with pytest.raises(StoryError, match=r"^odd.txt:5: nobody understands") as caught:
        LANGUAGE.read("odd.txt", f"{BEGINNING}{added}\n")
    assert why in str(caught.value)


def test_a_story_needs_a_title() -> None:
    with pytest.raises(StoryError, match=r"^odd.txt:1: a story begins with its title"):
        LANGUAGE.read("odd.txt", "Table A has 7 seats\n")


def test_only_what_is_done_can_be_refused() -> None:
    with pytest.raises(StoryError, match="only what is done can be refused"):
        LANGUAGE.read("odd.txt", f"{BEGINNING}Nothing is pending, which is refused: conflict\n")


SPADE_WON = """Seat 1 bets at A
The dealer locks A
Cards at A: Player 5♠ 2♦, Banker K♠ 9♥
"""


@pytest.mark.parametrize(
    ("added", "line", "why"),
    [
        ("The star meter shows $50,000.01", 5, "it is $50,000.00"),
        ("The house is up $50,900.00", 5, "it is -$50,900.00"),
        (f"{SPADE_WON}Seat 1 at A wins spade, $450.26", 8, "wins spade, $450.25"),
        (f"{SPADE_WON}Seat 1 at A loses", 8, "seat 1: spade"),
        (f"{SPADE_WON}Seat 2 at A loses", 8, "seat 2: no wager"),
        (f"{SPADE_WON}The dealer ends the round at A", 8, "should tell that seat 1 at A wins"),
        (SPADE_WON, 7, "should tell that seat 1 at A wins spade"),
        ("The dealer locks A, which is refused: seats_mismatch", 5, "it is not refused"),
        ("The dealer locks round 2 of A", 5, "it is refused: round_ahead"),
        ("The dealer locks round 2 of A, which is refused: conflict", 5, "round_ahead"),
        ("Repeated: The dealer locks A", 5, "nothing like it was done before"),
        ("Seat 1 bets too late at A", 5, "the message is applied, not late"),
        ("Lamps at A: accepted off off off off off off", 5, "the lamps are -------"),
        ("Seat 1 bets at B", 5, "there is no table b"),
        ("The dealer locks A\nTable B has 7 seats", 6, "before anything is done"),
    ],
)
def test_a_story_that_is_not_true_fails_where_it_stands(
    added: str, line: int, why: str, client: Redis, vault: Vault
) -> None:
    story = LANGUAGE.read("odd.txt", f"{BEGINNING}{added}\n")
    with pytest.raises(StoryError) as caught:
        play(story, client, vault)
    assert str(caught.value).startswith(f"odd.txt:{line}: ")
    assert why in str(caught.value)


def test_case_commas_and_full_stops_do_not_matter(client: Redis, vault: Vault) -> None:
    added = """SEATS 1 2 and 3 BET at a.
the DEALER locks A
cards at a: player ks 9h banker KS 9♥
seat 1 at a wins STAR $50001.35.
Seats 2, and 3, at A, win other King-9 $5000 each
"""
    play(LANGUAGE.read("odd.txt", BEGINNING + added), client, vault)
