"""Compare two checkouts in turn: ``bench.py compare OTHER [--repo DIR] [--rounds N]``.

Both kernels do the same work on copies of one repository: start, index it from nothing, answer the
same searches, stop, open it again. They take turns, so that a busy machine is unfair to both alike;
each figure is the best of its rounds, which a neighbour can spoil least. Processor seconds are
those of the process and its children. Kernels are not shared, as before 0.2. Each checkout needs
its environment: run ``scripts/run.py`` there once.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kernel_child import request
from verdicts import verdict

ROOT = Path(__file__).resolve().parents[2]
DEFAULT_ROUNDS = 5
DEFAULT_MAX_RATIO = 1.03
SEARCHES = 200
ACCURATE_SEARCHES = 24
LOOK_SECONDS = 0.05
QUERIES = (
    "where are sessions closed", "parse_header", "how is a file watched for changes",
    "retry after a network error", "class Settings", "write a file atomically",
    "tokenizer of the embedding model", "read the ignore rules of git",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Measured:
    """One round of one kernel, by the name of what was measured."""

    values: dict[str, float]


class ComparedKernel:
    """A kernel of one checkout on one userData folder."""

    def __init__(self, checkout: Path, user_data: Path) -> None:
        self.started = time.perf_counter()
        self._process = subprocess.Popen(
            [str(_interpreter(checkout)), "-m", _package(checkout), "serve"],
            cwd=user_data,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={"CODEKERNEL_USER_DATA": str(user_data), "CODEKERNEL_STANDALONE": "1"},
        )
        assert self._process.stdin  # noqa: S101 - Popen was asked for it
        assert self._process.stdout  # noqa: S101
        self._input, self._output = self._process.stdin, self._process.stdout
        self._output.readline()
        self.ready_seconds = time.perf_counter() - self.started

    def ask(self, message: dict[str, object], session: int = -1) -> dict[str, object]:
        """Send one request and return the data of its reply."""
        self._input.write(request(7, message, session))
        self._input.flush()
        for raw in self._output:
            line = json.loads(raw)
            if line["isReply"]:
                if line["status"]["code"] != "SUCCESS":
                    raise SystemExit(f"{message}: {line['status']}")
                return line.get("data") or {}
        raise SystemExit(f"The kernel ended before it answered {message}.")

    def wait_until_idle(self, session: int) -> None:
        """Ask until the index agrees with the files."""
        while self.ask({"type": "getIndexStatus"}, session)["state"] != "idle":
            time.sleep(LOOK_SECONDS)

    def stop(self) -> tuple[float, int]:
        """End it and return its processor seconds, children included, and its peak memory."""
        self._input.close()
        self._output.read()
        _, status, used = os.wait4(self._process.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        self._output.close()
        return used.ru_utime + used.ru_stime, used.ru_maxrss


def main() -> int:
    """Print the best figures and their ratios; 0 if no ratio is above the limit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", type=Path, help="a checkout of the version to compare with")
    parser.add_argument("--repo", type=Path, default=None, help="what is indexed (default: OTHER)")
    parser.add_argument("--rounds", type=int, default=DEFAULT_ROUNDS)
    parser.add_argument("--max-ratio", type=float, default=DEFAULT_MAX_RATIO)
    options = parser.parse_args()
    checkouts = {"other": options.other.resolve(), "this": ROOT}
    rounds: dict[str, list[Measured]] = {name: [] for name in checkouts}
    with tempfile.TemporaryDirectory() as name:
        repo = Path(name) / "repository"
        files = _copy_tracked_files((options.repo or options.other).resolve(), repo)
        for number in range(options.rounds):
            order = list(checkouts) if number % 2 else list(reversed(checkouts))
            for side in order:
                user_data = Path(name) / f"{side}{number}"
                rounds[side].append(_measure(checkouts[side], user_data, repo))
                shutil.rmtree(user_data)
    print(f"compare: {files} files, {options.rounds} rounds, {SEARCHES} searches a round\n")
    met = [
        _tell(what, rounds["other"], rounds["this"], options.max_ratio)
        for what in rounds["this"][0].values
    ]
    return 0 if all(met) else 1


def _package(checkout: Path) -> str:
    """Return the import package: until 0.1 it was the folder ``kernel`` itself."""
    return "codekernel" if (checkout / "kernel" / "codekernel").is_dir() else "kernel"


def _interpreter(checkout: Path) -> Path:
    """Return the interpreter of a checkout's own environment, whose children find their code."""
    python = checkout / ".venv" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        raise SystemExit(f"{checkout} has no environment yet: run scripts/run.py there once.")
    return python


def _copy_tracked_files(source: Path, target: Path) -> int:
    listed = subprocess.run(
        ["git", "-C", str(source), "ls-files", "-z"],  # noqa: S607 - the person's git
        capture_output=True,
        check=True,
    ).stdout
    paths = [os.fsdecode(path) for path in listed.split(b"\0") if path]
    for path in paths:
        if (source / path).is_file():
            (target / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / path, target / path)
    return len(paths)


def _measure(checkout: Path, user_data: Path, repo: Path) -> Measured:
    user_data.mkdir()
    kernel = ComparedKernel(checkout, user_data)
    values = {"spawn to ready, first time, s": kernel.ready_seconds}
    kernel.ask({"type": "createRepo", "repoName": repo.name, "path": str(repo)})
    began = time.perf_counter()
    kernel.ask({"type": "openRepo", "repoName": repo.name, "sessionId": 1})
    kernel.wait_until_idle(1)
    values["cold index, wall s"] = time.perf_counter() - began
    cpu, peak = kernel.stop()
    values["cold index, start and stop, CPU s"] = cpu
    values["cold index, peak memory"] = peak

    kernel = ComparedKernel(checkout, user_data)
    values["spawn to ready, s"] = kernel.ready_seconds
    kernel.ask({"type": "openRepo", "repoName": repo.name, "sessionId": 1})
    kernel.ask({"type": "search", "query": QUERIES[0], "limit": 10}, 1)
    values["re-open to the first answer, s"] = time.perf_counter() - kernel.started
    kernel.wait_until_idle(1)
    values["re-open until idle, s"] = time.perf_counter() - kernel.started
    for name, count, mode in (
        ("search", SEARCHES, {}),
        ("accurate search", ACCURATE_SEARCHES, {"accuracy": True}),
    ):
        times = sorted(_search_times(kernel, count, mode))
        values[f"{name} p50, ms"] = times[len(times) // 2] * 1000
        values[f"{name} p95, ms"] = times[len(times) * 95 // 100] * 1000
    cpu, peak = kernel.stop()
    values["re-open, searches and stop, CPU s"] = cpu
    values["re-open, searches and stop, peak memory"] = peak
    return Measured(values)


def _search_times(kernel: ComparedKernel, count: int, mode: dict[str, bool]) -> Iterator[float]:
    for number in range(count):
        query = f"{QUERIES[number % len(QUERIES)]} {number // len(QUERIES) or ''}".strip()
        began = time.perf_counter()
        kernel.ask({"type": "search", "query": query, "limit": 10, **mode}, 1)
        yield time.perf_counter() - began


def _tell(what: str, other: list[Measured], this: list[Measured], max_ratio: float) -> bool:
    before = min(one.values[what] for one in other)
    after = min(one.values[what] for one in this)
    return verdict(f"{what}: {before:.4g} -> {after:.4g}, ratio", after / before, max_ratio)


if __name__ == "__main__":
    sys.exit(main())
