"""Calls: how fast at a million chunks, and how right: ``callchain.py [speed|agreement] [options]``.

``speed`` makes a tree of ``--files`` files and ten times the chunks, indexes it, reads its calls,
and asks. ``agreement --repos DIR`` compares with jedi, TypeScript's compiler, javac, go/types and
libclang on projects in DIR; ``--misses`` prints each call that differs.
"""

import argparse
import sys
from pathlib import Path

from callchain_agreement import agreement
from callchain_speed import speed


def main() -> int:
    """Print the figures; 0 if all targets are met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("speed", "agreement"), nargs="?", default="speed")
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--repos", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--calls", type=int, default=600)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--misses", action="store_true")
    options = parser.parse_args()
    if options.what == "speed":
        return 0 if speed(options.files) else 1
    if options.repos is None:
        parser.error("agreement needs --repos")
    agreement(
        options.repos.resolve(), options.only, options.calls, options.seed, misses=options.misses
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
