"""One repository's search: words and vectors asked together, fused, checked against the files."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from kernel.domain.chunk import embedded_text
from kernel.domain.courtesy import Courtesy
from kernel.domain.hit import CHANGED, FRESH, PENDING, Hit
from kernel.domain.indexed import IndexedChunk, KnownFile
from kernel.search.query import Query, understood
from kernel.search.ranking import Ranked
from kernel.search.request import asked
from kernel.search.reranking import CANDIDATES, blend
from kernel.search.retrieval import SearchableIndex, ranked_by_evidence, ranked_by_text
from kernel.search.selection import without_overlap

# Candidates of each list for each hit that is wanted: enough that chunks good in both lists meet.
# Benchmark: 50 candidates for ten hits .880, 100 .888, 200 .883.
CANDIDATES_PER_HIT = 10
FEWEST_CANDIDATES = 100
# Nobody reads further, and a million hits would be a reply of gigabytes.
MOST_HITS = 1000


# Says how well each text answers a query, 0..1; nothing if no reranker is selected or usable.
Judge = Callable[[str, Sequence[str]], Sequence[float]]


@dataclass(frozen=True, slots=True)
class Searcher:
    """Any number of threads may search at once; nobody waits for indexing."""

    root: Path
    index: SearchableIndex
    judge: Judge | None = None
    # By which indexing lets a search pass.
    courtesy: Courtesy = field(default_factory=Courtesy)

    def search(self, text: str, limit: int, *, accuracy: bool = False) -> list[Hit]:
        """The best chunks for a query; with no vectors yet, those that share its words.

        ``accuracy`` asks the selected reranker too, if there is one. Raises WrongParam for a
        regular expression that is not valid.
        """
        request, limit = asked(text), min(limit, MOST_HITS)
        words = request.words.strip() or request.filters.as_words
        if not words and not request.is_literal:
            return []
        with self.courtesy.asking():
            if request.is_literal:
                return self._shown(ranked_by_text(self.index, request, limit), limit)
            query = understood(words)
            candidates = max(FEWEST_CANDIDATES, CANDIDATES_PER_HIT * limit)
            ranked = ranked_by_evidence(self.index, query, request.filters, candidates)
            if accuracy and self.judge:
                ranked = self._reranked(query, ranked, self.judge)
            return self._shown(ranked, limit)

    def _reranked(self, query: Query, ranked: list[Ranked], judge: Judge) -> list[Ranked]:
        heard = ranked[:CANDIDATES]
        contents = self.index.store.catalogue.contents([each.chunk.id for each in heard])
        texts = [
            embedded_text(each.chunk.chunk.symbols, contents.get(each.chunk.id, ""))
            for each in heard
        ]
        opinions = judge(query.text, texts)
        return blend(ranked, opinions) if opinions else ranked

    def _shown(self, ranked: Sequence[Ranked], limit: int) -> list[Hit]:
        """The first chunks whose files are still there, with their texts."""
        catalogue = self.index.store.catalogue
        chosen: list[tuple[Ranked, str]] = []
        unshown = without_overlap(ranked)
        while len(chosen) < limit and (some := list(islice(unshown, limit - len(chosen)))):
            files = catalogue.files_at({each.chunk.path for each in some})
            for each in some:
                freshness = self._freshness(each.chunk, files.get(each.chunk.path))
                if freshness:
                    chosen.append((each, freshness))
        contents = catalogue.contents([each.chunk.id for each, _ in chosen])
        return [
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

    def _freshness(self, chunk: IndexedChunk, known: KnownFile | None) -> str | None:
        """Whether the file is as it was when it was indexed; None if it is gone."""
        try:
            found = (self.root / chunk.path).stat()
        except OSError:
            return None
        if known is None:
            return None
        if found.st_size != known.size or known.mtime_ns not in {found.st_mtime_ns, -1}:
            return CHANGED
        pending = any(not arm.has(chunk.key) for arm in self.index.arms)
        return PENDING if pending else FRESH
