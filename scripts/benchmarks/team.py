"""A team's store: ``team.py --repo DIR [--model NAME] [--delay S] [--kills N]``.

A first developer opens a repository alone, a second one with what the first has contributed, each
in a process and a userData folder of its own, with SeaweedFS on loopback as the store; then a
second worktree; then CI builds a pack of the index, and a mate opens a clone with it. With
``--delay`` each request waits so long on its way. With ``--kills`` writers are killed -9 at random
moments, and every vector that the store had acknowledged is looked for.
"""

import argparse
import dataclasses
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from clients_place import ROOT
from codekernel.inference.model_folder import STATIC_MODEL
from codekernel.sharing.team_vectors import TeamVectors
from sharing.team_world import FORMAT, expect, find, make_texts
from support.git_history import GitHistory
from support.seaweed import BUCKET, WRITER, Seaweed
from support.slow_proxy import SlowProxy
from team_child import Errand
from verdicts import verdict, verdict_at_least

MAX_SECONDS_RATIO = 0.3
# Of a model that computes vectors more quickly than the store gives them: what timing it may take.
MAX_UNASKED_RATIO = 1.1
MAX_BYTES_PER_CHUNK = 600
MAX_PACK_SECONDS_RATIO = 0.1
MAX_PACK_BYTES_PER_CHUNK = 900
LEFT_OUT = (".git", ".venv", "node_modules", "__pycache__")
KILLED_WRITERS = 4
MAX_PACKS_BEFORE_KILL, MAX_PAUSE_SECONDS = 5, 0.2
MAX_READ = 200
QUERIES = (
    "where are the settings read",
    "handle an error of the connection",
    "parse the arguments of the command line",
    "write a file atomically",
)


def main() -> int:
    """Print the figures; 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repo", type=Path, default=ROOT / "kernel")
    parser.add_argument("--model", default=STATIC_MODEL)
    parser.add_argument("--delay", type=float, default=0.0)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        place = Path(made)
        with (
            Seaweed(place / "weed") as server,
            SlowProxy(server.endpoint, args.delay) as proxy,
        ):
            met = measure_developers(place, args, proxy)
            if args.kills:
                met &= measure_kills(place, server, args.kills, args.seed)
    return 0 if met else 1


def measure_developers(place: Path, args: argparse.Namespace, proxy: SlowProxy) -> bool:
    """Open the same code as three developers do."""
    roots = [place / name for name in ("one", "two", "tree")]
    for root in roots:
        shutil.copytree(args.repo, root, ignore=shutil.ignore_patterns(*LEFT_OUT))

    def open_as(
        name: str, root: Path, number: int = 1, *, shares: bool = True, takes_pack: bool = False
    ) -> dict[str, Any]:
        errand = Errand(
            str(root),
            str(place / name),
            number,
            args.model,
            f"s3://{BUCKET}/ck" if shares else "",
            proxy.endpoint,
            WRITER,
            QUERIES,
            takes_pack,
        )
        figures = run_errand(errand)
        bytes_before, requests_before = traffic.values()
        traffic.update(bytes=proxy.response_bytes, requests=proxy.requests)
        print(
            f"{name:10} {figures['seconds']:6.1f} s, {figures['cpu']:5.1f} s CPU,"
            f" {figures['chunks']} vectors, {figures.get('found', 0)} found,"
            f" {figures.get('contributed', 0)} contributed, {proxy.requests - requests_before}"
            f" requests, {(proxy.response_bytes - bytes_before) / 1e6:.1f} MB received",
            flush=True,
        )
        figures["received"] = proxy.response_bytes - bytes_before
        return figures

    traffic = {"bytes": 0, "requests": 0}
    print(f"{args.repo.name}, {args.model}, {args.delay * 1000:.0f} ms added to each request")
    alone = open_as("alone", roots[0], shares=False)
    first = open_as("first", roots[0])
    second = open_as("second", roots[1])
    worktree = open_as("second", roots[2], number=2)
    ratio = second["seconds"] / alone["seconds"]
    cpu = second["cpu"] / alone["cpu"]
    print(f"  the same in CPU of the process: {cpu:.3f}")
    print(
        f"  {first['computed']:.0f} computed a second, {second['fetched']:.0f} given by the store"
    )
    if second["found"]:
        met = verdict("second developer / alone", ratio, MAX_SECONDS_RATIO)
        received = second["received"] / second["found"]
        met &= verdict("bytes received per chunk", received, MAX_BYTES_PER_CHUNK, " B")
        met &= verdict("embedded by the second developer", second["chunks"] - second["found"], 0)
    else:
        met = verdict("second developer, who does not ask / alone", ratio, MAX_UNASKED_RATIO)
    met &= verdict("requests' worth of the second worktree", worktree["received"], 20_000, " B")
    history = GitHistory(roots[0])
    history.commit("all", {})
    history.git("clone", "--quiet", str(roots[0]), str(place / "clone"))
    built = run_errand(
        Errand(
            *(str(roots[0]), str(place / "ci"), 1, args.model),
            *(f"s3://{BUCKET}/ck", proxy.endpoint, WRITER, QUERIES),
            builds_pack=True,
        )
    )
    print(
        f"pack built {built['seconds']:6.1f} s, {built['cpu']:5.1f} s CPU, {built['embedded']}"
        f" embedded, {built['size'] / 1e6:.1f} MB, {built['size'] / built['chunks']:.0f} B a chunk"
    )
    traffic.update(bytes=proxy.response_bytes, requests=proxy.requests)
    mate = open_as("mate", place / "clone", takes_pack=True)
    met &= verdict(
        "developer with a pack / alone", mate["seconds"] / alone["seconds"], MAX_PACK_SECONDS_RATIO
    )
    print(f"  the same in CPU of the process: {mate['cpu'] / alone['cpu']:.3f}")
    received = mate["received"] / built["chunks"]
    met &= verdict("bytes received per chunk of a pack", received, MAX_PACK_BYTES_PER_CHUNK, " B")
    met &= verdict("embedded with a pack", mate["embedded"], 0)
    same = alone["hits"] == first["hits"] == second["hits"] == worktree["hits"] == mate["hits"]
    return verdict_at_least("same hits to the digit", float(same and bool(second["hits"])), 1) & met


def run_errand(errand: Errand) -> dict[str, Any]:
    """Run a developer's process."""
    ended = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("team_child.py"))],
        input=json.dumps(dataclasses.asdict(errand)),
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    figures: dict[str, Any] = json.loads(ended.stdout)
    return figures


class KillCampaign:
    """Writers that are killed, and a reader meanwhile."""

    def __init__(self, place: Path, server: Seaweed, kills: int, seed: int) -> None:
        self._place, self._server, self._kills = place, server, kills
        self._chance = random.Random(seed)  # noqa: S311 - repeatable, not secret
        self.acknowledged: set[int] = set()
        self.failures: list[str] = []
        self._is_over = threading.Event()

    def run(self) -> None:
        """Kill so often."""
        writing = [
            threading.Thread(target=self._write, args=(each,)) for each in range(KILLED_WRITERS)
        ]
        reading = threading.Thread(target=self._read)
        for thread in (*writing, reading):
            thread.start()
        for thread in writing:
            thread.join()
        self._is_over.set()
        reading.join()

    def find_all(self) -> tuple[int, int]:
        """Return how many acknowledged vectors are lost, and how many are wrong."""
        reader = TeamVectors(self._server.open_store(), FORMAT, self._place / "last")
        texts = _make_named_texts(self.acknowledged)
        found = find(reader, texts)
        wrong = sum(found[name] != row for name, row in expect(texts).items() if name in found)
        return len(texts.keys() - found.keys()), wrong

    def _write(self, number: int) -> None:
        for turn in range(self._kills // KILLED_WRITERS):
            begin = 10_000_000 * (1 + number) + 10_000 * turn
            lines = self._run_writer(begin, self._place / f"writer{number}")
            if not all(line.endswith(b"\n") for line in lines):
                self.failures.append("a writer has ended by itself")
            self.acknowledged |= {
                name for line in lines if line for name in range(*map(int, line.split()))
            }

    def _run_writer(self, begin: int, folder: Path) -> list[bytes]:
        paths = os.pathsep.join([str(ROOT / "tests"), *sys.path])
        arguments = [self._server.endpoint, str(begin), str(folder)]
        with subprocess.Popen(
            [sys.executable, "-m", "support.team_writer", *arguments],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": paths},
        ) as writer:
            output: Any = writer.stdout
            packs = 1 + self._chance.randrange(MAX_PACKS_BEFORE_KILL)
            lines = [output.readline() for _ in range(packs)]
            time.sleep(self._chance.random() * MAX_PAUSE_SECONDS)
            writer.kill()
            return [*lines, *output.readlines()]

    def _read(self) -> None:
        while not self._is_over.is_set():
            if not self.acknowledged:
                time.sleep(MAX_PAUSE_SECONDS)
                continue
            reader = TeamVectors(self._server.open_store(), FORMAT, self._place / "reader")
            texts = _make_named_texts(sorted(self.acknowledged)[-MAX_READ:])
            if find(reader, texts) != expect(texts) or reader.problem:
                self.failures.append(reader.problem or "a reader missed what was acknowledged")


def _make_named_texts(names: Iterable[int]) -> dict[int, str]:
    return {name: make_texts(1, begin=name)[name] for name in names}


def measure_kills(place: Path, server: Seaweed, kills: int, seed: int) -> bool:
    """Kill writers while others read, then look for everything that was acknowledged."""
    campaign = KillCampaign(place, server, kills, seed)
    campaign.run()
    count = len(campaign.acknowledged)
    print(f"{kills} kills of {KILLED_WRITERS} writers: {count} vectors acknowledged")
    for failure in campaign.failures[:3]:
        print(f"  {failure}")
    lost, wrong = campaign.find_all()
    met = verdict("acknowledged and lost", lost, 0)
    met &= verdict("wrong", wrong, 0)
    return verdict("failed readers and writers", len(campaign.failures), 0) & met


if __name__ == "__main__":
    sys.exit(main())
