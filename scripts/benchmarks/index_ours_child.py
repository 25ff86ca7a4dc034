"""Our index in a child process, measured as the rivals are: imports done and the model loaded."""

# ruff: noqa: PLC0415 - how long the imports take is measured

import os
import sys

from codekernel.cli.main import NUMPY_THREADS_ENV_VARIABLE
from index_disk import DIMENSIONS
from rival_child import Answer, Stopwatch, serve

# As the kernel itself sets them.
SWITCH_INTERVAL_SECONDS = 0.0002


def load() -> tuple[dict[str, float], dict[str, Answer]]:
    """Import everything that indexing needs and load the static model."""
    sys.setswitchinterval(SWITCH_INTERVAL_SECONDS)
    os.environ[NUMPY_THREADS_ENV_VARIABLE] = "1"
    watch = Stopwatch()
    from index_ours_work import Work

    imported = watch.seconds()
    work = Work()
    if work.embedder.dimensions != DIMENSIONS:
        sys.exit(f"The static model has {work.embedder.dimensions} dimensions, not {DIMENSIONS}.")
    ready = {"import_seconds": imported, "model_seconds": watch.seconds() - imported}
    return ready, {"index": work.index, "first_answer": work.first_answer, "walk": work.walk}


if __name__ == "__main__":
    serve(load)
