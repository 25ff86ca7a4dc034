"""Which of the ranked chunks are shown: no lines twice."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from kernel.search.ranking import Ranked


def without_overlap(ranked: Iterable[Ranked]) -> Iterator[Ranked]:
    """Leave out a chunk whose lines a better one of the same file shows already.

    Several input lengths cut the same lines several times.
    """
    shown: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for each in ranked:
        chunk = each.chunk
        begin, end = chunk.chunk.begin, chunk.chunk.end
        if all(
            end <= other_begin or begin >= other_end for other_begin, other_end in shown[chunk.path]
        ):
            shown[chunk.path].append((begin, end))
            yield each
