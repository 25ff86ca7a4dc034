"""A checkout over a base against an index of everything: ``team_edits.py [--edits N] [--seed N]``.

Edits, adds, renames, deletes and switches branches at random in a checkout that is searched over a
base in a folder; after every ten changes nine queries are asked of that and of a local index that
was made of the same files. Prints how many rankings were compared and how many differ.
"""

import argparse
import sys
import tempfile
from itertools import count
from pathlib import Path

import clients_place
from base.base_world import BaseWorld
from base.overlay_world import (
    QUERIES,
    TOLERANCE,
    OverlayHarness,
    RandomChanges,
    find_difference,
    make_files,
    open_alone,
    open_over_base,
    present,
    search_alone,
)
from indexing.harness import IndexHarness
from verdicts import verdict

CHANGES_A_TURN = 10
MAX_TRIES = 10
BRANCHES = (("other", 6), ("third", 7))


def main() -> int:
    """Print the figures; 0 if no ranking differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edits", type=int, default=500)
    parser.add_argument("--files", type=int, default=120)
    parser.add_argument("--seed", type=int, default=24)
    options = parser.parse_args()
    print(f"{clients_place.ROOT.name}, {options.files} files")
    with tempfile.TemporaryDirectory() as made:
        world = BaseWorld(Path(made))
        root = make_checkout(world, options.files)
        changes = RandomChanges(root, world.histories["api"].git, options.seed)
        compared = differences = repeated = 0
        with open_over_base(world, root, "over") as over:
            for turn in range(options.edits // CHANGES_A_TURN):
                for _ in range(CHANGES_A_TURN):
                    changes.change()
                over.rescan()
                with open_alone(world, root, f"alone{turn}") as alone:
                    for query in QUERIES:
                        problem, tries = compare(over, alone, query)
                        compared += 1
                        repeated += tries - 1
                        if problem:
                            differences += 1
                            print(f"  after {CHANGES_A_TURN * (turn + 1)}: {query}: {problem}")
        print(f"{options.edits} changes, seed {options.seed}: {compared} rankings of ten hits,"
              f" equal within {TOLERANCE} of a score;"
              f" {repeated} scans of text had too little time and were repeated")  # fmt: skip
    return 0 if verdict("rankings that differ", differences, 0) else 1


def compare(over: OverlayHarness, alone: IndexHarness, query: str) -> tuple[str, int]:
    """Return how the answers differ, and how often both were asked.

    A scan of texts that has run out of its two seconds is an incomplete answer, and repeated.
    """
    for tries in count(1):
        one, other = over.find(query), search_alone(alone, query)
        problem = find_difference(present(one), present(other))
        if not problem or tries == MAX_TRIES or (one.is_complete and other.is_complete):
            return problem, tries
    raise AssertionError


def make_checkout(world: BaseWorld, files: int) -> Path:
    """Return a clone, with three branches, of a repository whose main branch is in the base."""
    history = world.histories["api"]
    history.commit("more", make_files(files, seed=5))
    for branch, seed in BRANCHES:
        history.git("checkout", "--quiet", "-b", branch)
        history.commit(branch, make_files(files // 3, seed))
        history.git("checkout", "--quiet", "main")
    world.build()
    target = world.folder / "clones" / "api"
    history.git("clone", "--quiet", str(history.folder), str(target))
    for branch, _ in BRANCHES:
        history.git("-C", str(target), "branch", branch, f"origin/{branch}")
    return target


if __name__ == "__main__":
    sys.exit(main())
