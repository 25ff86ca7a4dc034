"""One kernel for many clients: ``bench.py clients [--folder PLACE] [--runs N] [PART ...]``.

Parts: commands (a search in a terminal, with and without a kernel), reopen (a repository is opened
until a reply has vectors), mcp (until the first answer), memory and idle (all that a person has
open at once), crowd (fifty clients at once), kills (kill -9 of kernel and clients under load).

Each answer is compared with that of the kernel which made the index. Of times the best and the
median are printed: a wall time is judged by the best, for the machine is shared, CPU by the median.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from clients_answers import measure_commands, measure_mcp, measure_reopen
from clients_crowd import measure_crowd
from clients_kills import measure_kills
from clients_place import Place
from clients_rows import Row
from clients_together import measure_idle, measure_memory

FILES, CHUNKS = 2_200, 22_000
RUNS = 7
KILLS = 200


def main() -> int:
    """Run the parts and print their figures; 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="PART")
    parser.add_argument("--folder", type=Path, help="make the index here, or use the one that is")
    parser.add_argument("--files", type=int, default=FILES)
    parser.add_argument("--chunks", type=int, default=CHUNKS)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    parts: dict[str, Callable[[Place, int], Iterator[Row]]] = {
        "commands": measure_commands,
        "reopen": measure_reopen,
        "mcp": measure_mcp,
        "memory": measure_memory,
        "idle": measure_idle,
        "crowd": measure_crowd,
        "kills": partial(measure_kills, kills=options.kills, seed=options.seed),
    }
    missed = 0
    with ExitStack() as opened:
        folder = options.folder or Path(
            opened.enter_context(tempfile.TemporaryDirectory(prefix="codekernel-clients-"))
        )
        place = Place(folder, options.files, options.chunks)
        opened.callback(place.kill_kernel)
        print(f"{options.files:,} files, {options.chunks:,} chunks\n\n| | |\n|---|---|", flush=True)
        for part in options.parts or parts:
            for what, figure, is_met in parts[part](place, options.runs):
                print(f"| {what} | {figure}{'' if is_met else ' (missed)'} |", flush=True)
                missed += not is_met
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
