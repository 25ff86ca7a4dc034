"""A real index of a folder, by words alone."""

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from codekernel.indexing.index_plan import IndexPlan
from codekernel.indexing.repository_index import RepositoryIndex
from codekernel.inference.model_pool import ModelPool

PATIENCE_SECONDS = 60


@contextmanager
def open_lexical_index(root: Path, folder: Path) -> Iterator[RepositoryIndex]:
    """Open it and wait until it is complete."""
    with closing(RepositoryIndex(root, folder, ModelPool)) as index:
        index.start(IndexPlan())
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not index.is_idle:
            assert time.monotonic() < deadline, index.get_status()
            time.sleep(0.01)
        yield index
