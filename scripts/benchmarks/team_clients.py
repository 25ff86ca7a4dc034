"""Clients of a team's kernel at once: ``team_clients.py [--clients N] [--questions N]``.

Each client has a token of its own, may read one file, and asks for it and for those of the others:
a reply that is missing is lost, one with another file is foreign.
"""

import argparse
import statistics
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

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
            return measure(server, args.clients, args.questions, len(sources))


def measure(server: TeamServer, clients: int, questions: int, files: int) -> int:
    """Ask from all clients at once."""
    people = [server.make_client(f"user{number}") for number in range(clients)]
    together = threading.Barrier(clients)

    def ask(number: int) -> tuple[int, int, list[float]]:
        together.wait()
        lost, foreign, seconds = 0, 0, []
        for place in range(questions):
            query = (
                f"only_word_{number}" if place % 2 == 0 else f"only_word_{(number + place) % files}"
            )
            started = time.perf_counter()
            found = people[number].ask("search", query=f"{query} read the settings")
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
    print(f"{clients} clients, {len(seconds)} searches in {took:.1f} s over {files} files")
    print(
        f"p50 {statistics.median(seconds) * 1000:.0f} ms,"
        f" p95 {seconds[int(0.95 * len(seconds))] * 1000:.0f} ms"
    )
    met = verdict("lost replies", sum(answer[0] for answer in answers), 0)
    met &= verdict("foreign replies", sum(answer[1] for answer in answers), 0)
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
