"""Measures what the product promises, and prints each figure beside its target as a ratio."""

import json
import os
import subprocess
import sys
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path

PROGRESSIVE = Path(sys.executable).with_name("progressive")
SEATS = [1, 2, 3, 4, 5, 6, 7]
HANDS = (
    {"player": ["KS", "9H"], "banker": ["KS", "9H"], "seats": SEATS},
    {"player": ["2D", "4C"], "banker": ["KS", "9H"], "seats": SEATS},
    {"player": ["2D", "2C", "7H"], "banker": ["KS", "3H", "AS"], "seats": SEATS},
    {"player": ["TD", "7C"], "banker": ["5S", "AH"], "seats": SEATS},
)
ROUNDS = 300_000
EVALUATE_PER_SECOND = 30_000
ODDS_SECONDS = 5.0


def seconds(arguments: list[str], source: Path) -> float:
    """Run the command line from a cold start, and give the time it took."""
    start = time.perf_counter()
    with source.open("rb") as stdin:
        subprocess.run(
            [PROGRESSIVE, *arguments], stdin=stdin, stdout=subprocess.DEVNULL, check=True
        )
    return time.perf_counter() - start


def main() -> None:
    """Print every figure."""
    took = seconds(["odds", "--decks", "6", "--decks", "8", "--json"], Path(os.devnull))
    print(f"all odds, 6 and 8 decks, cold: {took:.2f} s, {took / ODDS_SECONDS:.2f} x of the limit")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "rounds.jsonl")
        lines = [json.dumps(hands) for hands in HANDS]
        source.write_text("\n".join(islice(cycle(lines), ROUNDS)), encoding="utf-8")
        took = seconds(["evaluate"], source)
    rate = ROUNDS / took
    print(f"evaluate, 7 seats: {rate:,.0f} rounds/s, {rate / EVALUATE_PER_SECOND:.1f} x the target")


if __name__ == "__main__":
    main()
