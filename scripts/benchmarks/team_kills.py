"""A base while its committer and its readers are killed: ``team_kills.py [--kills N] [--seed S]``.

With SeaweedFS on loopback. The committer publishes one build after another, of repositories that
all name the number of the build; readers open what is published and look whether it is one whole
build. Half of the kills -9 hit a committer, half a reader, at random moments of their work. Then
every build that was acknowledged must be there, or a later one.
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import clients_place
import numpy as np
from base.base_world import BaseWorld
from codekernel.base.base_reader import open_base
from codekernel.errors import KernelError
from support.git_history import GitHistory
from support.seaweed import Seaweed
from verdicts import verdict

MAX_SECONDS_UNTIL_KILLED = 2.0
REPOSITORIES, FILES = 4, 25
HITS = 2 * REPOSITORIES * FILES


class TornBuild(Exception):
    """What is published is not one whole build."""


def main() -> int:
    """Print the figures; 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--role", choices=("committer", "reader"))
    parser.add_argument("--endpoint", default="")
    parser.add_argument("--place", type=Path)
    args = parser.parse_args()
    if args.role:
        return play(args.role, args.endpoint, args.place)
    with tempfile.TemporaryDirectory() as made, Seaweed(Path(made) / "weed") as server:
        return measure(Path(made), server, args.kills, args.seed)


def play(role: str, endpoint: str, place: Path) -> int:
    """Be a committer or a reader until killed; each line on stdout is an acknowledgement."""
    server = Seaweed(place / "weed")
    server.endpoint = endpoint
    place.mkdir(exist_ok=True)
    world = BaseWorld(place, server.open_store())
    while True:
        if role == "committer":
            number = time.time_ns()
            write_build(world, number)
            world.build()
        else:
            number = read_build(world)
        print(number, flush=True)


def write_build(world: BaseWorld, number: int) -> None:
    """Commit files that name the number of the build to all repositories."""
    world.histories = {
        f"part{part}": GitHistory(world.folder / f"{number}" / f"part{part}")
        for part in range(REPOSITORIES)
    }
    text = f"def build_{number}():\n    return 'everywhere'\n"
    for history in world.histories.values():
        history.commit("build", {f"file{each}.py": text for each in range(FILES)})


def read_build(world: BaseWorld) -> int:
    """Return the number of the build that is published. Raises TornBuild."""
    base = open_base(world.place)
    expected = REPOSITORIES * FILES
    found = base.table.search_terms(["everywher"], (), HITS)
    near = base.table.search_vectors(np.ones(base.manifest.dimensions, np.float32), (), HITS)
    counts = {base.table.count_rows(), base.manifest.chunks, len(found), len(near)}
    texts = base.table.read_texts([row["_rowid"] for row in near])
    numbers = {text.partition("(")[0].removeprefix("def build_") for text in texts.values()}
    if counts != {expected} or len(numbers) != 1:
        raise TornBuild(f"{counts} rows of the builds {numbers}")
    return int(numbers.pop())


def measure(place: Path, server: Seaweed, kills: int, seed: int) -> int:
    """Kill, and look what is published."""
    chance = random.Random(seed)  # noqa: S311 - repeatable, not secret
    acknowledged, read, failures = [0], 0, list[str]()
    first = start("committer", place / "first", server)
    wait_for_line(first)
    end(first)
    (place / "looks").mkdir()
    looking = BaseWorld(place / "looks", server.open_store())
    for kill in range(kills // 2):
        committer = start("committer", place / f"committer{kill}", server)
        reader = start("reader", place / f"reader{kill}", server)
        begun = [wait_for_line(committer), wait_for_line(reader)]
        time.sleep(chance.uniform(0, MAX_SECONDS_UNTIL_KILLED))
        (builds, problem), (seen, other) = end(committer), end(reader)
        builds = [*filter(None, begun[:1]), *builds]
        acknowledged += map(int, builds)
        read += len(seen)
        failures += filter(None, (problem, other))
        try:
            published = read_build(looking)
        except (KernelError, TornBuild) as error:
            failures.append(f"after kill {kill}: {error!r}")
            continue
        if published < acknowledged[-1]:
            failures.append(f"after kill {kill}: build {acknowledged[-1]} is lost")
    print(f"{kills} kills, {len(acknowledged) - 1} builds acknowledged, {read} read whole")
    for failure in failures[:5]:
        print(f"  {failure}")
    return 0 if verdict("lost, torn or failed", len(failures), 0) else 1


def start(role: str, place: Path, server: Seaweed) -> "subprocess.Popen[str]":
    """Start a process of a role."""
    words = ["--role", role, "--endpoint", server.endpoint, "--place", str(place)]
    return subprocess.Popen(
        [sys.executable, __file__, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=clients_place.ROOT,
    )


def wait_for_line(process: "subprocess.Popen[str]") -> str:
    """Return the first acknowledgement; nothing if the process has ended by itself."""
    return process.stdout.readline().strip() if process.stdout else ""


def end(process: "subprocess.Popen[str]") -> tuple[list[str], str]:
    """Kill a process; return its acknowledgements, and what it died of before."""
    died = process.poll() is not None
    process.kill()
    out, errors = process.communicate()
    whole = [line for line in out.split("\n")[:-1] if line]
    return whole, errors[-300:] if died else ""


if __name__ == "__main__":
    sys.exit(main())
