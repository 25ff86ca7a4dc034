"""A repository with a complete index, the answers it must give, and its kernel from outside.

A place can be kept (``--folder``): making the index of 22,000 chunks takes longer than measuring.
"""

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
for folder in ("tests", "kernel"):
    sys.path.insert(0, str(ROOT / folder))

from codekernel.client.connection import KernelConnection  # noqa: E402 - the paths are needed
from codekernel.errors import KernelError  # noqa: E402
from codekernel.storage.vectors import SNAPSHOT_SUFFIX  # noqa: E402
from scale_tree import generate, queries  # noqa: E402
from support.kernel_process import KernelProcess, code_of  # noqa: E402
from support.shared_kernel import ENVIRON, SharedKernel  # noqa: E402

COMMAND = (sys.executable, "-m", "codekernel")
QUERIES = 50
PRINTED_QUERIES = 10
SESSION = 1
POLL_SECONDS = 0.005
MAX_WAIT_SECONDS = 60.0
# An index is compacted after two seconds without work, and its vectors are written as a snapshot.
COMPACTION_SECONDS = 10.0
# Scores have four digits.
MAX_SCORE_DIFFERENCE = 0.00015

# A result of a reply: its file, its line, its score.
Answer = list[list[Any]]


@dataclass(frozen=True, slots=True)
class CommandRun:
    """What a command printed, and what it cost; the kernel's CPU is not in it."""

    output: str
    notices: str
    wall_seconds: float
    cpu_seconds: float


class Place:
    """A generated repository and the userData folder that has its index.

    ``answers`` and ``printed`` come from a kernel that has read the vectors from their table: those
    of later kernels, which read a snapshot, must be the same.
    """

    def __init__(self, folder: Path, files: int, chunks: int) -> None:
        self.repo, self.user_data = folder / "project", folder / "userData"
        os.environ.update(ENVIRON, CODEKERNEL_USER_DATA=str(self.user_data))
        self.kernel = SharedKernel(self.user_data)
        reference = folder / "answers.json"
        if not reference.exists():
            self.user_data.mkdir(parents=True)
            generate(self.repo, files, chunks)
            reference.write_text(json.dumps(self._make_reference()), encoding="utf-8")
        known = json.loads(reference.read_text(encoding="utf-8"))
        self.answers: dict[str, Answer] = known["answers"]
        self.printed: dict[str, str] = known["printed"]
        self.lexical_answers: dict[str, Answer] = known["lexical"]  # those without vectors
        self.semantic_queries = [
            query for query in self.answers if self.answers[query] != self.lexical_answers[query]
        ]
        self._queries = itertools.cycle(self.answers)
        self.kill_kernel()  # its memory is that of a kernel that has embedded

    def _make_reference(self) -> dict[str, Any]:
        asked = queries(QUERIES)
        self.run("search", asked[0], "--wait")
        # Compacted, for of equal BM25 scores the order in the lexical index decides.
        time.sleep(COMPACTION_SECONDS)
        self.run("stop")
        for snapshot in self.user_data.glob(f"index/*/vectors/*{SNAPSHOT_SUFFIX}"):
            snapshot.unlink()
        self.run("search", asked[0], "--wait")
        with self.connect() as connection:
            answers = {query: read_answer(search(connection, query)) for query in asked}
            lexical = {
                query: read_answer(search(connection, query, semantic=False)) for query in asked
            }
        printed = {query: self.run("search", query).output for query in asked[:PRINTED_QUERIES]}
        time.sleep(COMPACTION_SECONDS)  # then there is a snapshot again
        return {"answers": answers, "printed": printed, "lexical": lexical}

    def next_query(self) -> str:
        """The next one in turn."""
        query: str = next(self._queries)
        return query

    def run(self, *words: str) -> CommandRun:
        """Run a command in the repository."""
        started = time.monotonic()
        with subprocess.Popen(
            [*COMMAND, *words],
            cwd=self.repo,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            if not process.stdout or not process.stderr:
                raise AssertionError("both are pipes")
            output, errors = process.stdout.read(), process.stderr.read()
            # Of this process alone, whatever other children ended meanwhile.
            _, status, usage = os.wait4(process.pid, 0)
            wall = time.monotonic() - started
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise AssertionError(f"{words}: {process.returncode}, {errors.decode()}")
        return CommandRun(output.decode(), errors.decode(), wall, usage.ru_utime + usage.ru_stime)

    def connect(self, client: str = "bench") -> KernelConnection:
        """A client with the repository open in a session; starts the kernel if there is none."""
        connection = self.kernel.connect(client, may_start=True)
        connection.request("openFolder", {"path": str(self.repo), "sessionId": SESSION})
        return connection

    def warm_up(self) -> None:
        """Have a kernel run that searches with vectors, and agrees with the files."""
        self.run("search", self.next_query())

    def is_complete(self, connection: KernelConnection) -> bool:
        """Whether the index agrees with the files and all vectors are there."""
        status = connection.request("getIndexStatus", session_id=SESSION)
        return status["state"] == "idle" and all(each["ready"] for each in status["configs"])

    def find_kernel(self) -> int | None:
        """The process id of the kernel, if one runs."""
        with suppress(KernelError):
            return int(self.kernel.status()["pid"])
        return None

    def kill_kernel(self) -> None:
        """``kill -9``, and wait until nothing of the process is left."""
        if pid := self.find_kernel():
            os.kill(pid, signal.SIGKILL)
            _wait_for_end(pid)


def search(connection: KernelConnection, query: str, **changes: bool) -> list[dict[str, Any]]:
    """The results of a search, with the parts of their scores."""
    fields = {"query": query, "explain": True, **changes}
    results: list[dict[str, Any]] = connection.request("search", fields, SESSION)["results"]
    return results


def read_answer(results: list[dict[str, Any]]) -> Answer:
    """What of the results is compared."""
    return [[each["filePath"], each["beginLine"], each["score"]] for each in results]


def is_same_answer(answer: Answer, expected: Answer) -> bool:
    """Whether the results and their order are the same, and the scores but for rounding.

    The products of vectors are summed up in another order where memory is aligned otherwise: of
    3,105 answers 13 had .4714 in place of .4715.
    """
    return len(answer) == len(expected) and all(
        found[:2] == wanted[:2] and abs(found[2] - wanted[2]) < MAX_SCORE_DIFFERENCE
        for found, wanted in zip(answer, expected, strict=True)
    )


def open_folder(front_end: KernelProcess, folder: Path) -> None:
    """Open a folder in the front end's session."""
    reply = front_end.request("openFolder", path=str(folder), sessionId=SESSION)
    if code_of(reply) != "SUCCESS":
        raise AssertionError(str(reply["status"]))


def poll() -> Iterator[None]:
    """Yield until the caller has what it waits for; raises AssertionError after a minute."""
    deadline = time.monotonic() + MAX_WAIT_SECONDS
    while time.monotonic() < deadline:
        yield
        time.sleep(POLL_SECONDS)
    raise AssertionError("waited for a minute")


def read_cpu_seconds(pid: int) -> float:
    """CPU seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _wait_for_end(pid: int) -> None:
    """Wait until no thread holds the process's files; the first thread is a zombie before that."""
    for _ in poll():
        try:
            state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2]
            threads = list(Path(f"/proc/{pid}/task").iterdir())
        except (FileNotFoundError, ProcessLookupError):
            return
        if state.split()[0] == "Z" and len(threads) <= 1:
            return
