"""One repository's search: words and vectors asked together, fused, checked against the files."""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from kernel.domain.cancel import CancelToken
from kernel.domain.chunk import embedded_text
from kernel.domain.courtesy import Courtesy
from kernel.domain.hit import CHANGED, FRESH, PENDING, Found, Hit
from kernel.domain.indexed import KnownFile
from kernel.domain.path_text import encode_path
from kernel.errors import Cancelled, RepoNotExist, WrongParam
from kernel.search.highlight import words_of
from kernel.search.query import Query, understood
from kernel.search.ranking import Ranked
from kernel.search.request import Request, asked
from kernel.search.reranking import blend, to_read
from kernel.search.retrieval import SearchableIndex, ranked_by_evidence, ranked_by_text
from kernel.search.selection import without_overlap
from kernel.storage.index_store import IndexStore

# Candidates of each list for each hit that is wanted: enough that chunks good in both lists meet.
# Benchmark: 50 candidates for ten hits .880, 100 .888, 200 .883.
CANDIDATES_PER_HIT = 10
FEWEST_CANDIDATES = 100
# Five times as many for who asks for accuracy, and a second look at the best of them. That takes
# three times as long. Benchmark with both: 100 .889, 200 .890, 300 .892, 500 .895, 800 .894.
ACCURATE_FACTOR = 5
# Who asks for very many hits gets them from these, so that a search never ranks a repository.
MOST_CANDIDATES = 10_000
# As many as settings.json may ask for; a million hits would be a reply of gigabytes.
MOST_HITS = 10_000
# While the settings change, models are closed and chunks are replaced by those of another cut, and
# a search in the middle of that asks again; it may meet the one and then the other.
MOST_ATTEMPTS = 3


# Says how well each text answers a query, 0..1; nothing if no reranker is selected or usable.
Judge = Callable[[str, Sequence[str]], Sequence[float]]
# Told of an error and of the store it was met in; whether there is another store to ask now.
Heal = Callable[[BaseException, IndexStore], bool]


@dataclass(frozen=True, slots=True)
class Searcher:
    """Any number of threads may search at once; nobody waits for indexing."""

    root: Path
    index: SearchableIndex
    judge: Judge | None = None
    # By which indexing lets a search pass.
    courtesy: Courtesy = field(default_factory=Courtesy)
    heal: Heal = lambda _error, _store: False

    def search(self, text: str, limit: int, *, accuracy: bool = False) -> list[Hit]:
        """The best chunks for a query, as ``found`` has them."""
        return self.found(text, limit, CancelToken(), accuracy=accuracy).hits

    def found(self, text: str, limit: int, cancel: CancelToken, *, accuracy: bool) -> Found:
        """The best chunks for a query; with no vectors yet, those that share its words.

        ``accuracy`` looks at more chunks, and again at the best; it asks the selected reranker too,
        if there is one. Raises WrongParam for a regular expression that is not valid and a filter
        that nothing fits, RepoNotExist if the folder is gone, Cancelled if texts are still looked
        through by then.
        """
        request, limit = asked(text), min(limit, MOST_HITS)
        if not request.plain and not request.is_literal:
            return Found([], [])
        for attempt in range(MOST_ATTEMPTS):
            arms, store = self.index.arms, self.index.store
            try:
                with self.courtesy.asking():
                    found, is_current = self._answer(request, limit, cancel, accuracy=accuracy)
            except (WrongParam, Cancelled):
                raise
            except Exception as error:
                # What is whole answers, if the index was damaged and has been replaced.
                if attempt == MOST_ATTEMPTS - 1 or not self.heal(error, store):
                    raise
                continue
            if is_current and self.index.arms == arms:
                break
        if not found.hits:
            with self.courtesy.asking():
                self._say_why_nothing_was_found(request)
        return found

    def _say_why_nothing_was_found(self, request: Request) -> None:
        """Raise RepoNotExist if the folder is gone, WrongParam for a filter that nothing fits."""
        if not self.root.is_dir():
            raise RepoNotExist(
                f"the folder {encode_path(str(self.root))} is gone: it was deleted or moved, or its"
                " disk is away"
            )
        from kernel.search.unknown_values import refuse_unknown_values  # noqa: PLC0415 - seldom

        refuse_unknown_values(request.filters, self.index)

    def _answer(
        self, request: Request, limit: int, cancel: CancelToken, *, accuracy: bool
    ) -> tuple[Found, bool]:
        """What is found, and whether all of it was still there to be shown."""
        query, is_complete = understood(request.plain), True
        if request.is_literal:
            ranked, is_complete = ranked_by_text(self.index, request, limit, cancel)
        else:
            wanted = max(FEWEST_CANDIDATES, CANDIDATES_PER_HIT * limit)
            candidates = min(wanted * (ACCURATE_FACTOR if accuracy else 1), MOST_CANDIDATES)
            ranked = ranked_by_evidence(
                self.index, query, request.filters, candidates, accuracy=accuracy
            )
            if accuracy and self.judge:
                ranked = self._reranked(query, ranked, self.judge)
        hits, is_current = self._shown(ranked, limit)
        return Found(hits, words_of(request, query), is_complete), is_current

    def _reranked(self, query: Query, ranked: list[Ranked], judge: Judge) -> list[Ranked]:
        heard = to_read(query, ranked)
        contents = self.index.store.catalogue.contents([each.chunk.id for each in heard])
        texts = [_with_path(each, contents.get(each.chunk.id, "")) for each in heard]
        opinions = judge(query.meant, texts) if texts else ()
        return blend(ranked, heard, opinions) if opinions else ranked

    def _shown(self, ranked: Sequence[Ranked], limit: int) -> tuple[list[Hit], bool]:
        """The first chunks whose files are still there, with their texts; and if these all are."""
        catalogue = self.index.store.catalogue
        chosen: list[tuple[Ranked, str]] = []
        unshown = without_overlap(ranked)
        while len(chosen) < limit and (some := list(islice(unshown, limit - len(chosen)))):
            paths = list(dict.fromkeys(each.chunk.path for each in some))
            unchanged = self._unchanged(catalogue.files_at(paths))
            for each in some:
                if each.chunk.path in unchanged:
                    freshness = self._freshness(each) if unchanged[each.chunk.path] else CHANGED
                    chosen.append((each, freshness))
        contents = catalogue.contents([each.chunk.id for each, _ in chosen])
        hits = [
            Hit(
                chunk=each.chunk,
                content=contents[each.chunk.id],
                score=each.score / (each.score + 1),  # 0..1 in the same order
                freshness=freshness,
                signals=each.signals,
            )
            for each, freshness in chosen
            if each.chunk.id in contents
        ]
        return hits, len(hits) == len(chosen)

    def _unchanged(self, files: Mapping[str, KnownFile]) -> dict[str, bool]:
        """For each file that is still there, whether it is as it was when it was indexed."""
        root, unchanged = os.fspath(self.root), {}
        for path, known in files.items():
            try:
                found = os.stat(os.path.join(root, path))  # noqa: PTH116, PTH118 - a third of the time
            except OSError:
                continue
            same_time = known.mtime_ns in {found.st_mtime_ns, -1}
            unchanged[path] = found.st_size == known.size and same_time
        return unchanged

    def _freshness(self, ranked: Ranked) -> str:
        if ranked.is_embedded:
            return FRESH
        pending = any(
            arm.lacks(ranked.chunk.key, ranked.chunk.input_length) for arm in self.index.arms
        )
        return PENDING if pending else FRESH


def _with_path(ranked: Ranked, content: str) -> str:
    """What a reranker reads of a chunk: where it stands, and it."""
    return f"{ranked.chunk.path}\n{embedded_text(ranked.chunk.chunk.symbols, content)}"
