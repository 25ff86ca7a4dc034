"""What an agent adds to its model: ``agent.py [--rounds N]``.

A real ``codekernel agent --stdio`` works in a folder; its scripted model lives here, in another
process, and answers at once. The time of a round is what passes between the last byte of one answer
and the arrival of the next request: reading the answer, the tool itself, the lines on stdout, the
session on disk, the next request. Also: how soon an agent that is stopped has said so.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from support.chat_server import (
    ChatServer,
    ReceivedRequest,
    SetEvent,
    Step,
    WaitForDisconnect,
    delta,
    reply_calls,
    reply_text,
)
from verdicts import verdict

ROOT = Path(__file__).resolve().parents[2]
ROUND_TARGET_MS = 20.0
STOP_TARGET_MS = 200.0
# After its first words, so that no start is measured.
QUIET_SECONDS = 0.5
# What one round reads: about as much as a model asks for at a time.
LINES = 120
CALLS = (
    ("list_directory", {"path": "."}),
    ("read_file", {"path": "module.py", "start_line": 1, "end_line": LINES}),
    ("search_context", {"pattern": "def bench_1", "path": "."}),
    ("edit_file", {"path": "notes.md", "mode": "append", "content": "one more line\n"}),
)


class Model:
    """Answers with a call each time, then with words; remembers when."""

    def __init__(self, rounds: int) -> None:
        self.arrived: list[int] = []
        self.answered: list[int] = []
        self._rounds = rounds

    def answer(self, _: ReceivedRequest) -> Iterator[Step]:
        """One answer; the moment after its last piece is the one at which it was sent."""
        self.arrived.append(time.monotonic_ns())
        number = len(self.arrived)
        if number == 1:
            yield from reply_calls(("plan", {"action": "skip"}), used=(1000, 20))
        elif number <= self._rounds:
            yield from reply_calls(CALLS[number % len(CALLS)], used=(1000, 20))
        else:
            yield from reply_text("done")
        self.answered.append(time.monotonic_ns())

    def milliseconds(self) -> list[tuple[str, float]]:
        """The tool and the time of each round but the first, which loads what is needed."""
        pairs = zip(self.answered[1:], self.arrived[2:], strict=False)
        return [
            (CALLS[number % len(CALLS)][0], (arrived - answered) / 1e6)
            for number, (answered, arrived) in enumerate(pairs, start=2)
        ]


def main() -> int:
    """Print the figures; 0 if the targets are met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=80)
    parser.add_argument("--stops", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        _write_project(place / "project")
        met = _rounds(place, options.rounds) & _stops(place, options.stops)
    return 0 if met else 1


def _rounds(place: Path, rounds: int) -> bool:
    model = Model(rounds)
    with ChatServer([model.answer]) as server:
        _write_settings(place / "userData", server.url)
        done = _start_agent(place, "work").communicate(timeout=600)[0]
    last = json.loads(done.splitlines()[-1])
    if last["type"] != "final":
        raise SystemExit(f"the agent did not finish: {last}")
    measured = model.milliseconds()
    times = sorted(milliseconds for _, milliseconds in measured)
    print(f"agent: {rounds} rounds of one call each, the window filled on the way\n")
    for tool, _ in CALLS:
        of_tool = sorted(milliseconds for name, milliseconds in measured if name == tool)
        print(f"- a round with {tool}, p50 {_at(of_tool, 50):.1f} ms")
    p50, p95 = _at(times, 50), _at(times, 95)
    print(f"- any round, p50 {p50:.1f} ms, p95 {p95:.1f} ms, max {times[-1]:.1f} ms")
    return verdict("beside the model, per round, p95", p95, ROUND_TARGET_MS, " ms")


def _stops(place: Path, stops: int) -> bool:
    times: list[float] = []
    for _ in range(stops):
        begun = threading.Event()
        with ChatServer([[delta("I"), SetEvent(begun), WaitForDisconnect()]]) as server:
            _write_settings(place / "userData", server.url)
            process = _start_agent(place, "hang")
            begun.wait(60)
            time.sleep(QUIET_SECONDS)
            asked = time.monotonic_ns()
            process.send_signal(signal.SIGINT)
            kinds = []
            for line in process.stdout or ():
                kinds.append(json.loads(line)["type"])
                if kinds[-1] == "error":
                    times.append((time.monotonic_ns() - asked) / 1e6)
            process.wait(60)
            if kinds[-1] != "error":
                raise SystemExit(f"a stopped agent went on: {kinds}")
    return verdict(
        "from Ctrl-C to the last line, p50", _at(sorted(times), 50), STOP_TARGET_MS, " ms"
    )


def _start_agent(place: Path, prompt: str) -> "subprocess.Popen[bytes]":
    words = [sys.executable, "-m", "codekernel", "agent", "--stdio", "--rounds", "1000", prompt]
    environ = {
        **os.environ,
        "CODEKERNEL_USER_DATA": str(place / "userData"),
        "PYTHONPATH": str(ROOT / "kernel"),
    }
    return subprocess.Popen(
        words, cwd=place / "project", env=environ, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )


def _at(values: list[float], percent: int) -> float:
    return values[min(len(values) - 1, len(values) * percent // 100)]


def _write_project(folder: Path) -> None:
    folder.mkdir()
    text = "".join(f"def bench_{each}(value):\n    return value + {each}\n" for each in range(200))
    (folder / "module.py").write_text(text, encoding="utf-8")
    (folder / "notes.md").write_text("# Notes\n", encoding="utf-8")


def _write_settings(user_data: Path, url: str) -> None:
    user_data.mkdir(exist_ok=True)
    content = {
        "searchSettings": {
            "searchLimit": 10,
            "embeddingConfig": {"configs": []},
            "rerankConfig": {"configs": []},
        },
        "localModelManagement": {"models": []},
        "conversationSettings": {
            "generationModel": [{"name": "bench", "modelName": "bench", "url": url}],
            "historyLength": 1000,
        },
        "performance": {"maxThreads": 0, "useCuda": False, "useCoreML": False},
    }
    (user_data / "settings.json").write_text(json.dumps(content), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
