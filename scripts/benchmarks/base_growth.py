"""A base of a given size: ``base_growth.py [--chunks N] [--built N] [--keep DIR]``.

The generated tree of ``growth``, each of its areas (40,000 chunks) a repository of its own, is
built into one base on SeaweedFS on loopback. ``--built`` stops after so many chunks and fills the
rest of the table with copies of their rows under other names and with other vectors. Prints the
clock, the CPU and the bytes of each layer of the build, then what the base answers. ``--keep``
leaves tree and store in a folder: what is there already is not built again.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import scale_tree
from base_copies import fill_with_copies
from base_growth_asking import ask_base
from build_steps import BuildSteps, print_sizes
from clients_place import ROOT  # noqa: F401 - where the kernel is found
from codekernel.base.base_building import BaseBuilder, BuildProgress, select_base_model
from codekernel.base.base_place import BasePlace
from codekernel.base.base_reader import open_base
from codekernel.base.build_engines import LocalEngine
from codekernel.base.sources import find_sources
from codekernel.domain.settings import Performance
from codekernel.inference.model_pool import ModelPool
from codekernel.storage.base.base_table import BaseTable, BaseTableError
from support.seaweed import Seaweed
from team_base import make_place, plan_default

CHUNKS_PER_FILE = 10
CHUNKS_PER_AREA = CHUNKS_PER_FILE * scale_tree.FILES_PER_FOLDER * scale_tree.FOLDERS_PER_AREA
# Its volumes have 64 MB each, and there are eight of them unless it is told.
MANY_VOLUMES = "-volume.max=400"


def main() -> int:
    """Print the figures; 0 if the targets are met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chunks", type=int, default=1_000_000)
    parser.add_argument("--built", type=int, help="all of them, if not said")
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = options.keep or Path(made)
        folder.mkdir(parents=True, exist_ok=True)
        roots = grow_tree(folder / "generated", options.chunks)
        roots = roots[: max(1, (options.built or options.chunks) // CHUNKS_PER_AREA)]
        with Seaweed(folder / "weed", MANY_VOLUMES) as server:
            place = make_place(server.endpoint)
            if count_published(place) < options.chunks:
                build(place, roots, options.workers)
            if count_published(place) < options.chunks:
                fill(place, options.chunks)
            met = ask_base(place, server.endpoint, roots[0])
    return 0 if met else 1


def grow_tree(tree: Path, chunks: int) -> list[Path]:
    """Return the areas of a tree of so many chunks; it is made if it is not there."""
    done = tree.with_suffix(".bytes")
    if not done.exists():
        began = time.perf_counter()
        size = scale_tree.generate(tree, chunks // CHUNKS_PER_FILE, chunks)
        done.write_text(str(size), encoding="utf-8")
        print(f"made in {time.perf_counter() - began:.0f} s", flush=True)
    areas = sorted(path for path in tree.iterdir() if path.is_dir())
    print(f"{int(done.read_text('utf-8')) / 1e6:.0f} MB of source, {len(areas)} repositories")
    return areas


def count_published(place: BasePlace) -> int:
    """Return how many chunks the base has."""
    try:
        return BaseTable(place.table).count_rows()
    except BaseTableError:
        return 0


def build(place: BasePlace, roots: Sequence[Path], workers: int) -> None:
    """Build the base; print what each step takes."""
    steps = BuildSteps()
    with closing(LocalEngine(workers)) as engine:
        model = select_base_model(plan_default(), ModelPool())
        steps.enter(BuildProgress("indexing"))
        builder = BaseBuilder(place, model, Performance(), engine, steps.enter)
        built = builder.build(find_sources([("", root) for root in roots]))
        steps.end()
    if built.problems:
        raise SystemExit(str(built.problems))
    chunks = built.manifest.chunks
    parts = sum(len(each.parts) for each in built.manifest.repositories)
    print(
        f"{len(roots)} repositories, {chunks} chunks, {parts} parts; built now {built.parts_built}"
    )
    if built.parts_built:
        used = steps.taken["indexing"][2] * parts / built.parts_built
        print(f"CPU of the workers: {1e6 * used / chunks:.0f} us a chunk")
    steps.print(chunks)
    print_sizes(place, chunks)


def fill(place: BasePlace, chunks: int) -> None:
    """Fill the table with copies; print what each step takes."""
    steps = BuildSteps()
    rows = fill_with_copies(place, open_base(place), chunks, steps.enter)
    steps.end()
    print(f"with copies: {rows} chunks")
    steps.print(rows)
    print_sizes(place, rows)


if __name__ == "__main__":
    sys.exit(main())
