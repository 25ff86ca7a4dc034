"""How soon a client is answered: commands, a repository that is opened again, MCP servers."""

import itertools
import json
import os
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from clients_place import (
    COMMAND,
    Place,
    is_same_answer,
    poll,
    read_answer,
    read_cpu_seconds,
    search,
)
from clients_rows import Row

# The targets, in seconds.
MAX_WARM_WALL, MAX_WARM_CPU, MAX_COLD_CPU = 0.15, 0.12, 0.6
MAX_FIRST_ANSWER = 0.5


def measure_commands(place: Place, runs: int) -> Iterator[Row]:
    """A search in a terminal: beside a running kernel, and with one that it must start.

    Each run must print what the kernel printed that had made the index.
    """
    asked = list(itertools.islice(itertools.cycle(place.printed), runs))
    place.warm_up()
    warm = [(query, place.run("search", query)) for query in asked]
    cpu = [run.cpu_seconds for _, run in warm]
    wall = [run.wall_seconds for _, run in warm]
    is_right = all(run.output == place.printed[query] for query, run in warm)
    yield (
        "search, kernel running",
        f"wall {format_seconds(wall)}, CPU {format_seconds(cpu)}{'' if is_right else ', WRONG'}",
        min(wall) <= MAX_WARM_WALL and statistics.median(cpu) <= MAX_WARM_CPU and is_right,
    )
    wall, cpu, is_right = [], [], True
    for query in asked:
        place.kill_kernel()
        run = place.run("search", query)
        cpu.append(run.cpu_seconds + _read_kernel_cpu(place))
        wall.append(run.wall_seconds)
        is_right &= run.output == place.printed[query]
    yield (
        "search, no kernel running (CPU of command and kernel)",
        f"wall {format_seconds(wall)}, CPU {format_seconds(cpu)}{'' if is_right else ', WRONG'}",
        statistics.median(cpu) <= MAX_COLD_CPU and is_right,
    )


def measure_reopen(place: Place, runs: int) -> Iterator[Row]:
    """From openFolder in a new kernel to the right answer to a query that needs vectors.

    The old kernel is killed, so that nothing is warm but the system's file cache.
    """
    since_open, since_start, cpu = [], [], []
    queries = itertools.cycle(place.semantic_queries)
    for _ in range(runs):
        place.kill_kernel()
        started = time.monotonic()
        with place.kernel.connect("bench", may_start=True) as connection:
            connection.request("getRepos")  # it answers
            opened, used = time.monotonic(), _read_kernel_cpu(place)
            connection.request("openFolder", {"path": str(place.repo), "sessionId": 1})
            for _ in poll():  # by the status, because searches would slow down the opening
                status = connection.request("getIndexStatus", session_id=1)
                if all(config["ready"] for config in status["configs"]):
                    break
            query = next(queries)
            results = search(connection, query)
            since_open.append(time.monotonic() - opened)
            since_start.append(time.monotonic() - started)
            cpu.append(_read_kernel_cpu(place) - used)
            if not is_same_answer(read_answer(results), place.answers[query]):
                raise AssertionError(f"another answer to {query!r}")
    figure = (
        f"{format_seconds(since_open)}, CPU {format_seconds(cpu)}; from the start of the process"
        f" {format_seconds(since_start)}"
    )
    is_met = min(since_open) <= MAX_FIRST_ANSWER
    yield "open to a reply with vectors, new kernel", figure, is_met


def measure_mcp(place: Place, runs: int) -> Iterator[Row]:
    """From the start of ``codekernel mcp`` to the answer of its first search.

    The first MCP client of a kernel is measured apart: the kernel imports the SDK for it.
    """
    first: list[float] = []
    later: list[float] = []
    for _ in range(runs):
        place.kill_kernel()
        place.warm_up()
        for measured in (first, later):
            started = time.monotonic()
            with open_mcp_server(place) as (_, ask):
                ask(place.next_query())
                measured.append(time.monotonic() - started)
    yield (
        "mcp: start to the first answer, first MCP client of the kernel",
        format_seconds(first),
        min(first) <= MAX_FIRST_ANSWER,
    )
    yield (
        "mcp: start to the first answer, later ones",
        format_seconds(later),
        min(later) <= MAX_FIRST_ANSWER,
    )


def format_seconds(values: Sequence[float]) -> str:
    """The best and the median: the machine is shared."""
    return f"{min(values):.3f} s (median {statistics.median(values):.3f})"


@contextmanager
def open_mcp_server(
    place: Place,
) -> Iterator[tuple["subprocess.Popen[bytes]", Callable[[str], str]]]:
    """Start ``codekernel mcp`` and shake hands; yields it and a function that searches."""
    with subprocess.Popen(
        [*COMMAND, "mcp"],
        cwd=place.repo,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        if not process.stdin or not process.stdout:
            raise AssertionError("both are pipes")
        stdin, stdout, numbers = process.stdin.fileno(), process.stdout, itertools.count(1)

        def send(method: str, **fields: Any) -> None:
            line = json.dumps({"jsonrpc": "2.0", "method": method, **fields}).encode()
            os.write(stdin, line + b"\n")

        def call(method: str, params: dict[str, Any]) -> Any:
            number = next(numbers)
            send(method, id=number, params=params)
            for line in stdout:
                message = json.loads(line)
                if message.get("id") == number:
                    return message["result"]
            raise AssertionError("the server has ended")

        def ask(query: str) -> str:
            result = call("tools/call", {"name": "search", "arguments": {"query": query}})
            if result.get("isError"):
                raise AssertionError(result)
            return str(result["content"][0]["text"])

        call(
            "initialize",
            {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "bench", "version": "1"},
            },
        )
        send("notifications/initialized")
        try:
            yield process, ask
        finally:
            process.kill()


def _read_kernel_cpu(place: Place) -> float:
    pid = place.find_kernel()
    if pid is None:
        raise AssertionError("the command has left no kernel")
    return read_cpu_seconds(pid)
