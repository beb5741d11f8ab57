"""Measures what the product promises, and prints each figure beside its target as a ratio."""

import json
import os
import subprocess
import sys
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path

import bench_http
import bench_locks
import bench_memory
import bench_sealer
import bench_verifier

PROGRESSIVE = Path(sys.executable).with_name("progressive")
SEATS = [1, 2, 3, 4, 5, 6, 7]
HANDS = (
    {"player": ["KS", "9H"], "banker": ["KS", "9H"], "seats": SEATS},
    {"player": ["2D", "4C"], "banker": ["KS", "9H"], "seats": SEATS},
    {"player": ["2D", "2C", "7H"], "banker": ["KS", "3H", "AS"], "seats": SEATS},
    {"player": ["TD", "7C"], "banker": ["5S", "AH"], "seats": SEATS},
)
WAGERS = [
    {"seat": 1, "wager": "banker", "amount": "25.00"},
    {"seat": 2, "wager": "player", "amount": "100.00"},
    {"seat": 3, "wager": "tie", "amount": "5.00"},
    {"seat": 1, "wager": "dragon_bonus", "on": "player", "paytable": "A", "amount": "25.00"},
]
ROUNDS = 200_000
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
    for name, wagers in (("7 seats", []), ("7 seats and 4 wagers", WAGERS)):
        rate = evaluated_per_second([{**hands, "wagers": wagers} for hands in HANDS])
        ratio = rate / EVALUATE_PER_SECOND
        print(f"evaluate, {name}: {rate:,.0f} rounds/s, {ratio:.1f} x the target")
    bench_locks.main()
    bench_memory.main()
    bench_sealer.main()
    bench_http.main()
    bench_verifier.main()


def evaluated_per_second(rounds: list[dict[str, object]]) -> float:
    """Evaluate the rounds over and over, from a file."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "rounds.jsonl")
        lines = [json.dumps(one) for one in rounds]
        source.write_text("\n".join(islice(cycle(lines), ROUNDS)), encoding="utf-8")
        return ROUNDS / seconds(["evaluate"], source)


if __name__ == "__main__":
    main()
