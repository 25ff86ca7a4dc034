"""A repository as conversations and agents need it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from codekernel.domain.call_graph import QueryCallChain
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import Hit
from codekernel.storage.catalog.catalog import Catalog

# The best hits for a query, at most so many of them; raises Cancelled.
SearchFunction = Callable[[str, int, CancelToken], Sequence[Hit]]

# For a query, what marks its words in a text and escapes the rest for a page.
MakeHighlighter = Callable[[str], Callable[[str], str]]


@dataclass(frozen=True, slots=True)
class RepositoryAccess:
    """``repo_id`` is None for an unregistered folder, whose usage is not recorded.

    ``get_catalog`` returns another one after a damaged index was rebuilt.
    ``calls`` queries the call graph for an agent; ``make_highlighter`` marks words in shown
    excerpts; ``is_mirrored`` if who asks reads histories in the repository.
    """

    root: Path
    search: SearchFunction
    get_catalog: Callable[[], Catalog]
    repo_id: int | None = None
    calls: QueryCallChain | None = None
    make_highlighter: MakeHighlighter | None = None
    is_mirrored: bool = False
