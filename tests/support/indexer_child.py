"""A child process that indexes one repository until it is killed, and prints what it does.

Arguments: the repository, the index's folder, the input lengths ("400,900"). Each line of stdin is
another list of lengths to go on with; "settle" is answered with "settled" once nothing is left to
do, and until then with "trouble" whenever that changes. The end of stdin ends it.
"""

import os
import sys
import threading
from pathlib import Path

from codekernel.indexing import vector_index
from codekernel.indexing.index_plan import BatchSizes, ConfigPlan, IndexPlan, IndexTimings
from codekernel.indexing.repository_index import RepositoryIndex
from codekernel.inference.model_folder import STATIC_MODEL, get_bundled_folder
from codekernel.inference.model_pool import ModelPool
from codekernel.storage.vectors import vector_table

from support.polling import pause

# A repository of some dozen files is to have many batches, tidying, dropped vectors and compaction.
BATCH_SECONDS = 0.002
TIMINGS = IndexTimings(
    first_batch=BATCH_SECONDS,
    max_batch=BATCH_SECONDS,
    index_start_delay=0.0,
    embed_start_delay=0.0,
    compact_delay=0.03,
    flush_delay=0.01,
    embed_retry=0.2,
    max_backoff=0.2,
)
COMMITS = 2
SPARE = 10
POLL_SECONDS = 0.01


def plan_of(lengths: str) -> IndexPlan:
    model = get_bundled_folder() / STATIC_MODEL
    chosen = [int(length) for length in lengths.split(",")]
    sizes = BatchSizes(smallest=SPARE, largest=SPARE)
    configs = (ConfigPlan(f"static-{length}", model, length, sizes) for length in chosen)
    return IndexPlan(tuple(configs))


def print_line(*words: object) -> None:
    """One line in one write, because several threads print."""
    os.write(1, ("\t".join(str(word) for word in words) + "\n").encode())


def shorten_limits() -> None:
    """Make every threshold small, so that all that happens to a large index happens here."""
    vector_index.MIN_SPARE_VECTORS = SPARE
    vector_table.MIN_COMMITS_TO_COMPACT = COMMITS


def report_compactions() -> None:
    compact = vector_table.VectorTable.compact

    def compact_and_report(table: vector_table.VectorTable) -> None:
        print_line("compacting")
        compact(table)
        print_line("compacted")

    vector_table.VectorTable.compact = compact_and_report  # type: ignore[assignment, method-assign]  # reports too


def main(root: Path, folder: Path, lengths: str) -> None:
    shorten_limits()
    report_compactions()
    print_line("begin")
    models = ModelPool()
    index = RepositoryIndex(root, folder, lambda: models, timings=TIMINGS)
    print_line("open")
    index.subscribe(
        lambda path, status, value: print_line(status, path, value),
        lambda error: print_line("crash", error),
    )
    index.start(plan_of(lengths))
    for line in sys.stdin:
        if line.strip() != "settle":
            index.reconfigure(plan_of(line.strip()))
            continue
        threading.Thread(target=report_idle, args=(index,), daemon=True).start()
    index.close()


def report_idle(index: RepositoryIndex) -> None:
    trouble = ""
    while not index.is_idle:
        if (now := index.get_status().trouble) != trouble:
            trouble = now
            print_line("trouble", trouble)
        pause(POLL_SECONDS)
    print_line("settled")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
