"""A child by itself: what it is told, what is heard of it, and how often it is tried."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from controller_process import is_alive, until

from progressive import logs
from progressive.processes.child import Child
from progressive.processes.children import Task

Make = Callable[[Task], Child]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.fixture
def make(path: Path) -> Iterator[Make]:
    made: list[Child] = []
    file = logs.LogFile(path)
    lock, other = os.pipe()

    def child(task: Task) -> Child:
        made.append(Child(task, {}, lock, file))
        return made[-1]

    yield child
    for each in made:
        each.stop()
    for handle in (lock, other):
        os.close(handle)
    file.close()


def python(code: str, **more: Any) -> Task:  # noqa: ANN401 - a task's own fields
    return Task("child", (sys.executable, "-c", code), needs_server=False, **more)


def test_what_keeps_ending_is_started_again_after_growing_pauses(
    make: Make, caplog: pytest.LogCaptureFixture
) -> None:
    child = make(python("raise SystemExit(3)"))
    child.start()

    def has_started(times: int) -> bool:
        child.look()
        return child.starts >= times

    until(lambda: has_started(3))
    said = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert said[:2] == [
        f"child ended by itself (status 3), started again in {pause} s" for pause in (0.0, 0.5)
    ]


def test_secrets_reach_a_child_by_its_standard_input_and_stay_out_of_the_log(
    make: Make, path: Path
) -> None:
    heard: list[dict[str, Any]] = []
    code = "import json; print(json.dumps({'told': input()})); print('plain')"
    child = make(python(code, told="Secret-Order", hear=heard.append))
    assert "Secret-Order" not in repr(child.task)
    child.start()
    until(lambda: path.exists() and "plain" in path.read_text(encoding="utf-8"))
    assert heard == [{"told": "Secret-Order"}]
    (line,) = path.read_text(encoding="utf-8").splitlines()
    assert json.loads(line)["message"] == "plain"


def test_a_child_that_does_not_heed_is_killed_with_what_it_started(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("progressive.processes.child.STOP_WAIT_S", 0.2)
    heard: list[dict[str, Any]] = []
    code = (
        "import json, signal, subprocess, sys, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        "own = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\n"
        "print(json.dumps({'pid': own.pid}), flush=True); time.sleep(600)"
    )
    child = make(python(code, hear=heard.append))
    child.start()
    until(lambda: heard)
    pids = [child.pid or 0, heard[0]["pid"]]
    assert all(map(is_alive, pids))
    child.stop()
    until(lambda: not any(map(is_alive, pids)))


RAISES = """
import json
def read(body):
    try:
        int(body)
    except ValueError as error:
        raise RuntimeError(f"cannot read {body}\\n{body}\\n  File \\"{body}\\"\\n") from error
print("before")
print(json.dumps({"level": "warning", "message": "in form"}), flush=True)
read("Secret-Word")
"""


def lines(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_of_an_exception_that_a_child_dies_of_the_log_has_type_and_place_and_no_word(
    make: Make, path: Path
) -> None:
    child = make(python(RAISES))
    child.start()
    until(lambda: len(lines(path)) == 4)
    assert "Secret-Word" not in path.read_text(encoding="utf-8")
    before, in_form, first, second = lines(path)
    assert (before["message"], in_form["message"]) == ("before", "in form")
    assert (first["level"], first["error"], first["at"]) == (
        "error",
        "ValueError",
        ["<string>:5 read"],
    )
    assert (second["error"], second["at"]) == (
        "RuntimeError",
        ["<string>:10 <module>", "<string>:7 read"],
    )


def test_after_an_exception_in_a_thread_a_child_is_heard_again(make: Make, path: Path) -> None:
    code = (
        "import sys, threading, time\n"
        "def fail(): raise KeyError('moon')\n"
        "thread = threading.Thread(target=fail); thread.start(); thread.join()\n"
        "while True: time.sleep(0.05); print('plain', flush=True)"
    )
    make(python(code)).start()
    until(lambda: any(line["message"] == "plain" for line in lines(path)))


def test_after_an_exception_a_child_is_heard_again_at_once_when_it_speaks_in_form(
    make: Make, path: Path
) -> None:
    code = (
        "import json, threading\n"
        "def fail(): raise KeyError('Secret-Word\\nSecret-Word')\n"
        "def fall(): raise ExceptionGroup('Secret-Word', [ValueError('Secret-Word')])\n"
        "for each in (fail, fall):\n"
        "    thread = threading.Thread(target=each); thread.start(); thread.join()\n"
        "print('Secret-Word', flush=True)\n"
        "print(json.dumps({'message': 'in form'})); print('plain', flush=True)"
    )
    child = make(python(code))
    child.start()
    until(lambda: any(line["message"] == "plain" for line in lines(path)))
    assert "Secret-Word" not in path.read_text(encoding="utf-8")
    assert [line.get("error") for line in lines(path)][1] == "KeyError"
    assert lines(path)[-2]["message"] == "in form"
