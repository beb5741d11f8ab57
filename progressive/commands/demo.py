"""`progressive demo`: what the product does, shown on the example site."""

import random
from importlib import resources

import click
from rich.console import Group

from progressive import odds_tables
from progressive.config.load import load_site
from progressive.config.values import Link, Site
from progressive.odds_report import royal9_report
from progressive.rules.baccarat import play
from progressive.rules.cards import ALL_CARDS, Card, hand, symbols
from progressive.rules.royal9 import LevelShare

STORY = (hand("K♠ 9♥"), hand("K♠ 9♥"))  # seat 1's own King-9, on both hands


def example_site() -> Site:
    """Load the example that comes with the product."""
    text = resources.files("progressive").joinpath("example.toml").read_text(encoding="utf-8")
    loaded = load_site(text)
    if loaded.site is None:
        raise click.ClickException("\n".join(str(problem) for problem in loaded.problems))
    return loaded.site


@click.command()
@click.option("--rounds", type=click.IntRange(1, 1000), default=8, show_default=True)
@click.option("--random-seed", type=int, default=9, show_default=True)
def demo(rounds: int, random_seed: int) -> None:
    """Show the example site, its exact odds, and a few rounds at its tables."""
    site = example_site()
    console = odds_tables.console()
    console.print(f"{site.name}: {len(site.tables)} tables\n{site.rulebook.title}\n")
    link = site.links[0]
    table = site.tables_of(link.name)[0]
    must_hit = link.must_hit.terms if link.must_hit else None
    report = royal9_report(
        link.paytable, table.seating(link.paytable), link.decks, link.terms, must_hit
    )
    console.print(odds_tables.royal9_table(report))
    console.print(odds_tables.levels_table(report))
    console.print(odds_tables.returns_text(report))
    console.print()
    console.print(_rounds(site, link, rounds, random_seed))
    console.print("Next: progressive odds, progressive evaluate, progressive check, with --help.")


def _rounds(site: Site, link: Link, rounds: int, seed: int) -> Group:
    """Deal a few rounds, the last of them one that a seat has waited for."""
    rng = random.Random(seed)  # noqa: S311 - a demonstration that is the same every time
    columns = ("table", "Player", "Banker", "outcome", "Royal 9")
    grid = odds_tables.grid(*columns, left=len(columns))
    tables = site.tables_of(link.name)
    for number in range(rounds):
        table = tables[number % len(tables)]
        seating = table.seating(link.paytable)
        cards: list[Card] = rng.sample(ALL_CARDS * link.decks, 6)
        if number == rounds - 1:
            player, banker = STORY
            cards = [player[0], banker[0], player[1], banker[1]]
        played = play(cards)
        won: dict[str, list[str]] = {}
        for seat in range(1, table.seats + 1):
            won.setdefault(seating.line(seat, played), []).append(str(seat))
        won.pop("loss", None)
        grid.add_row(
            table.name,
            f"{symbols(played.player)} = {played.player_points}",
            f"{symbols(played.banker)} = {played.banker_points}",
            played.outcome,
            "\n".join(f"{_shown(link, line)}: seat {' '.join(won[line])}" for line in won) or "-",
        )
    return odds_tables.sheet(f"{rounds} rounds, every seat betting Royal 9", grid)


def _shown(link: Link, line: str) -> str:
    pay = link.paytable.pays[line]
    return f"{line} ({pay.percent} % of the meter)" if isinstance(pay, LevelShare) else line
