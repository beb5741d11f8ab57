"""A plain application to be measured beside: Flask, gunicorn and redis-py, a wager a request.

It adds a wager to its table and to the meters, and that is all: no signature, no journal, nothing
exactly once. `gunicorn bench_plain:app` serves it.
"""

import os

from flask import Flask, request
from redis import Redis

STAKE_MICROS = 5_000_000
RATES_PPM = {"star": 40_000, "spade": 20_000, "heart": 20_000, "must_hit": 20_000}

app = Flask(__name__)
store = Redis(unix_socket_path=os.environ.get("PLAIN_STORE", ""), decode_responses=True)


@app.post("/wagers")
def take_wager() -> dict[str, object]:
    said = request.get_json()
    pipeline = store.pipeline()
    pipeline.hincrby("wagers", f"{said['table']}/{said['seat']}", 1)
    for level, rate_ppm in RATES_PPM.items():
        pipeline.hincrby("meters", level, STAKE_MICROS * rate_ppm // 1_000_000)
    count, *meters = pipeline.execute()
    return {"wagers": count, "meters": dict(zip(RATES_PPM, meters, strict=True))}
