"""A base on two nodes of Ray, one of which dies: ``ray_nodes.py --repos DIR [--only NAME ...]``.

Needs ``codekernel[ray]``. Both nodes are on this machine, the head on 127.0.0.2 and the other one
on 127.0.0.3: of two on one address the second one never starts. The other node is killed as soon
as two parts are there. Prints how long it took, and whether the table has the rows that processes
of this machine make of the same repositories.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import clients_place
from codekernel.base.base_building import BaseBuilder, BuiltBase, select_base_model
from codekernel.base.base_place import BasePlace, find_base_place
from codekernel.base.build_engines import BuildEngine, LocalEngine
from codekernel.base.manifest import BaseManifest
from codekernel.base.ray_engine import RayEngine
from codekernel.base.sources import find_sources
from codekernel.domain.settings import Performance
from codekernel.inference.model_pool import ModelPool
from codekernel.sharing.object_store import ObjectStore, StorePlace
from codekernel.sharing.team import OpenedStore
from codekernel.storage.base.base_rows import decode_batches
from support.team_secret import SECRET
from team_base import plan_default
from verdicts import verdict

HEAD, OTHER, PORT = "127.0.0.2", "127.0.0.3", 6399
NODE_OPTIONS = ("--num-cpus=1", "--object-store-memory=100000000", "--disable-usage-stats")
START_TIMEOUT_SECONDS = 180.0
PARTS_BEFORE_KILL = 2
NAMES = ["requests", "cobra", "gin", "axios", "gson", "rack", "axum", "monolog"]

Row = tuple[Any, ...]


def main() -> int:
    """Return 0 if both tables have the same rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repos", type=Path, required=True)
    parser.add_argument("--only", nargs="*", default=NAMES)
    options = parser.parse_args()
    roots = [options.repos / name for name in options.only]
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        with closing(LocalEngine(1)) as local:
            _, expected = build(folder / "local", roots, local)
        with run_nodes(folder) as other, closing(RayEngine(f"{HEAD}:{PORT}")) as engine:
            killer = threading.Thread(target=kill_in_the_middle, args=(other, folder / "ray"))
            killer.start()
            began = time.perf_counter()
            built, found = build(folder / "ray", roots, engine)
            seconds = time.perf_counter() - began
            killer.join()
    work = f"{len(roots)} repositories, {built.parts_built} parts, {len(found)} rows"
    print(f"{work} in {seconds:.1f} s on two nodes of one core, one of them killed")
    met = verdict("repositories that failed", len(built.problems), 0)
    return 0 if verdict("rows that differ", len(found ^ expected), 0) & met else 1


def build(folder: Path, roots: list[Path], engine: BuildEngine) -> tuple[BuiltBase, set[Row]]:
    """Build a base in a folder; return its rows, too."""
    folder.mkdir()
    opened = OpenedStore(ObjectStore(StorePlace(str(folder)), {}), SECRET)
    place = find_base_place(opened, "nodes", {})
    model = select_base_model(plan_default(), ModelPool())
    built = BaseBuilder(place, model, Performance(), engine).build(
        find_sources([("", root) for root in roots])
    )
    return built, set(read_rows(place, built.manifest))


def read_rows(place: BasePlace, manifest: BaseManifest) -> Iterator[Row]:
    """Yield what tells one row from another."""
    for repository in manifest.repositories:
        for part in repository.parts:
            for batch in decode_batches(place.store.read(part)):
                columns = ("repo", "path", "begin", "end", "text_hash")
                yield from zip(*(batch.column(name).to_pylist() for name in columns), strict=True)


@contextmanager
def run_nodes(folder: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Run two nodes; yield the one that is not the head."""
    environ = {
        **os.environ,
        "RAY_USAGE_STATS_ENABLED": "0",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    environ["RAY_TMPDIR"] = str(folder / "r")
    head = ("--head", f"--node-ip-address={HEAD}", f"--port={PORT}", "--include-dashboard=false")
    other = (f"--address={HEAD}:{PORT}", f"--node-ip-address={OTHER}")
    command = [sys.executable, "-m", "ray.scripts.scripts", "start", "--block", *NODE_OPTIONS]
    running: list[subprocess.Popen[bytes]] = []
    try:
        for number, options in enumerate((head, other)):
            with (folder / f"node{number}.log").open("wb") as log:
                running.append(
                    subprocess.Popen(
                        [*command, *options],
                        env=environ,
                        stdout=log,
                        stderr=log,
                        start_new_session=True,
                    )
                )
            wait_for_line(folder / f"node{number}.log", b"Ray runtime started")
        yield running[1]
    finally:
        for node in running:
            kill_node(node)


def wait_for_line(log: Path, text: bytes) -> None:
    """Wait until a node has said that it runs."""
    deadline = time.monotonic() + START_TIMEOUT_SECONDS
    while text not in log.read_bytes():
        if time.monotonic() > deadline:
            raise TimeoutError(log.read_text(errors="replace")[-2000:])
        time.sleep(0.2)


def kill_in_the_middle(node: "subprocess.Popen[bytes]", store: Path) -> None:
    """Kill a node as soon as some parts are there."""
    while len(list(store.rglob("parts/*.rows"))) < PARTS_BEFORE_KILL:
        time.sleep(0.02)
    kill_node(node)


def kill_node(node: "subprocess.Popen[bytes]") -> None:
    """Kill a node with all of its processes, at once."""
    try:
        os.killpg(node.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    node.wait()


if __name__ == "__main__":
    print(clients_place.ROOT.name)
    sys.exit(main())
