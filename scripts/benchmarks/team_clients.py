"""Clients of a team's kernel at once: ``team_clients.py [--clients N] [--questions N]``.

Each client has a token of its own, may read one file, and asks for it and for those of the others,
over HTTP and then over a WebSocket: a reply that is missing is lost, one with another file is
foreign.
"""

import argparse
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from clients_place import ROOT
from support.team_server import TeamServer, run_team_server
from verdicts import verdict

OPERATOR = "operator"


def main() -> int:
    """Print the figures; 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--questions", type=int, default=20)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        app = Path(made, "app")
        app.mkdir()
        sources = sorted(ROOT.glob("kernel/codekernel/*/*.py"))
        for number, source in enumerate(sources):
            text = source.read_text(encoding="utf-8")
            (app / f"part{number}.py").write_text(f"only_word_{number} = 1\n{text}", "utf-8")
        users = {f"user{number}": {"app": [f"part{number}.py"]} for number in range(args.clients)}
        rights = {
            "repositories": {"app": str(app)},
            "users": {**users, OPERATOR: {"app": ["**"]}},
            "requestsPerMinute": 1_000_000,
        }
        with run_team_server(Path(made, "userData"), rights) as server:
            server.make_client(OPERATOR).wait_until_indexed(len(sources))
            met = measure(server, args.clients, args.questions, len(sources), ask_by_http)
            met &= measure(server, args.clients, args.questions, len(sources), ask_by_socket)
            return 0 if met else 1


# Opens what asks: a query -> the reply's data.
Asking = Callable[[TeamServer, str], AbstractContextManager[Callable[[str], dict[str, Any]]]]


@contextmanager
def ask_by_http(server: TeamServer, user: str) -> Iterator[Callable[[str], dict[str, Any]]]:
    """Ask with a request for each query."""
    person = server.clients[user]
    yield lambda query: person.ask("search", query=query)


@contextmanager
def ask_by_socket(server: TeamServer, user: str) -> Iterator[Callable[[str], dict[str, Any]]]:
    """Ask in a session of one connection."""
    with server.open_socket(user, server.clients[user].token) as socket:
        socket.receive()
        socket.open_app()
        yield lambda query: socket.ask("search", query=query).get("data", {})


def measure(server: TeamServer, clients: int, questions: int, files: int, open_: Asking) -> bool:
    """Ask from all clients at once."""
    for number in range(clients):
        server.make_client(f"user{number}")
    together = threading.Barrier(clients)

    def ask(number: int) -> tuple[int, int, list[float]]:
        with open_(server, f"user{number}") as ask_one:
            together.wait()
            return ask_all(number, ask_one)

    def ask_all(
        number: int, ask_one: Callable[[str], dict[str, Any]]
    ) -> tuple[int, int, list[float]]:
        lost, foreign, seconds = 0, 0, []
        for place in range(questions):
            query = (
                f"only_word_{number}" if place % 2 == 0 else f"only_word_{(number + place) % files}"
            )
            started = time.perf_counter()
            found = ask_one(f"{query} read the settings")
            seconds.append(time.perf_counter() - started)
            paths = [each["filePath"] for each in found.get("results", [])]
            foreign += any(path != f"part{number}.py" for path in paths)
            lost += "results" not in found or (place % 2 == 0 and not paths)
        return lost, foreign, seconds

    started = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        answers = list(pool.map(ask, range(clients)))
    took = time.perf_counter() - started
    seconds = sorted(each for answer in answers for each in answer[2])
    way = open_.__name__.removeprefix("ask_by_")
    print(f"{way}: {clients} clients, {len(seconds)} searches in {took:.1f} s over {files} files")
    print(
        f"p50 {statistics.median(seconds) * 1000:.0f} ms,"
        f" p95 {seconds[int(0.95 * len(seconds))] * 1000:.0f} ms"
    )
    met = verdict("lost replies", sum(answer[0] for answer in answers), 0)
    return verdict("foreign replies", sum(answer[1] for answer in answers), 0) & met


if __name__ == "__main__":
    sys.exit(main())
