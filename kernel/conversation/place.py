"""The repository that a question is about, as a conversation needs it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from kernel.domain.call_chain import AskCalls
from kernel.domain.cancel import CancelToken
from kernel.domain.hit import Hit
from kernel.storage.catalogue import Catalogue

# The best hits for a query, at most so many of them; raises Cancelled.
Search = Callable[[str, int, CancelToken], Sequence[Hit]]
# For a query, what marks its words in a text and escapes the rest for a page.
MarkWords = Callable[[str], Callable[[str], str]]


@dataclass(frozen=True, slots=True)
class Place:
    """``repo_id`` is None for a folder that is not registered, whose usage nobody keeps.

    ``calls`` says who calls what, for an agent; ``mark_words`` is for places that are shown.
    """

    root: Path
    search: Search
    catalogue: Catalogue
    repo_id: int | None = None
    calls: AskCalls | None = None
    mark_words: MarkWords | None = None
