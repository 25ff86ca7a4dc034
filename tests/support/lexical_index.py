"""A real index of a folder, by words alone."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from codekernel.indexing.index_plan import IndexPlan
from codekernel.indexing.repository_index import RepositoryIndex
from codekernel.inference.model_pool import ModelPool

from support.polling import wait_until


@contextmanager
def open_lexical_index(root: Path, folder: Path) -> Iterator[RepositoryIndex]:
    """Open it and wait until it is complete."""
    with closing(RepositoryIndex(root, folder, ModelPool)) as index:
        index.start(IndexPlan())
        wait_until(lambda: index.is_idle, index.get_status)
        yield index
