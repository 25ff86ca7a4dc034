"""The search pipeline of one repository.

Parse the query, retrieve lexical and semantic candidates, rank them (ranking.py), rerank,
select, and check the hits against the files on disk.
"""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Protocol

from codekernel.domain.concurrency import BackgroundThrottle, CancelToken
from codekernel.domain.index import (
    CHANGED_SINCE_INDEXED,
    EMBEDDING_PENDING,
    FRESH,
    FileRecord,
    Hit,
    HitList,
    IndexedChunk,
    build_embedding_text,
)
from codekernel.domain.untrusted_text import encode_path
from codekernel.errors import Cancelled, RepoNotExist, WrongParam
from codekernel.search.boosts import find_mentioned_chunks
from codekernel.search.filters import Filters, build_unknown_value_error, has_symbol, is_path_match
from codekernel.search.highlight import list_query_words
from codekernel.search.query_parser import (
    Query,
    SearchExpression,
    parse_query,
    parse_search_expression,
)
from codekernel.search.ranking import (
    RankedChunk,
    blend_reranker_scores,
    drop_overlapping,
    fuse_scores,
    rank_chunks,
    refine_semantically,
    select_for_reranker,
)
from codekernel.search.stopwords import QUERY_STOPWORDS
from codekernel.search.text_scan import MAX_MATCHES, scan_texts
from codekernel.storage.index_store import IndexStore

# A filter turns most candidates away, so there have to be more.
FILTERED_CANDIDATES_FACTOR = 10

# If no word of a query stands anywhere in the repository, the nearest text must be at least so
# near, or nothing matches. On the 32 repositories with the static model 89 % of made-up words and
# 99 % of words of other trades have nothing nearer; of the benchmark's names 1 %, of its questions
# 4 %, but those all share words with the code, so that none is turned away. A sentence, which has
# words like "the" in it, is somebody's question and is answered: in a small folder it may find what
# it means with a cosine of .1.
MIN_COSINE = 0.4

# Exact matches come in an order of their own; each is worth a little less than the one before.
EXACT_RANK_DECAY = 0.999


class SemanticIndex(Protocol):
    """The vectors of one embedding config."""

    def search(self, query: str, k: int) -> list[tuple[int, float]]:
        """Keys of the nearest texts and their similarity, best first."""

    def is_missing(self, text_hash: int, max_chunk_chars: int) -> bool:
        """Whether a text of that cut is still to be embedded; other cuts are not this config's."""

    def compute_similarities(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """The cosines of a query and short texts; nothing if the model is not quick enough."""


class SearchableIndex(Protocol):
    """What is searched."""

    @property
    def store(self) -> IndexStore:
        """Catalogue and words."""

    @property
    def vector_indexes(self) -> Sequence[SemanticIndex]:
        """The embedding configs that are ready."""


def search_hybrid(
    index: SearchableIndex,
    query: Query,
    filters: Filters,
    max_candidates: int,
    *,
    accuracy: bool = False,
) -> list[RankedChunk]:
    """Every candidate in order, with what speaks for it; ``accuracy`` takes a second look."""
    catalogue = index.store.catalog
    count = max_candidates if filters.is_empty else FILTERED_CANDIDATES_FACTOR * max_candidates
    found = _retrieve_candidates(index, query, count)
    chunks = found.chunks
    fused = fuse_scores(found.lexical, found.semantic, query.kind)
    named = find_mentioned_chunks(catalogue, query)
    if not named and _has_no_match(query, found):
        return []
    for chunk in named:
        chunks[chunk.id] = chunk
        fused.setdefault(chunk.id, (0.0, 0.0))
    if not filters.is_empty:
        chunks = {number: chunk for number, chunk in chunks.items() if filters.accepts(chunk)}
    ranked = rank_chunks(query, fused, chunks)
    if accuracy:
        ranked = refine_semantically(query, ranked, partial(_compute_similarities, index))
    for each in ranked:
        each.is_embedded = each.chunk.text_hash in found.embedded_hashes
    return ranked


def search_literal(
    index: SearchableIndex, request: SearchExpression, limit: int, cancel: CancelToken
) -> tuple[list[RankedChunk], bool]:
    """Chunks in which what was asked for stands letter by letter, and whether those are all.

    Definitions come first and tests last; plain words beside what must stand there have the first
    say in the order, as far as they say anything. Raises Cancelled.
    """
    words = request.plain_text.strip()
    most = MAX_MATCHES if words else limit
    scanned = scan_texts(index.store.catalog, index.store.lexical, request, most, cancel)
    ranked = [
        RankedChunk(match.chunk, EXACT_RANK_DECAY**place, {"exact": EXACT_RANK_DECAY**place})
        for place, match in enumerate(scanned.matches)
    ]
    if words and ranked:
        _add_hybrid_scores(index, parse_query(words), ranked)
    return ranked[:limit], scanned.is_complete and len(ranked) <= limit


def _add_hybrid_scores(index: SearchableIndex, query: Query, ranked: list[RankedChunk]) -> None:
    """Put chunks in the order in which a query would find them among each other."""
    found = _retrieve_candidates(index, query, FILTERED_CANDIDATES_FACTOR * len(ranked))
    chunks = {each.chunk.id: each.chunk for each in ranked}
    fused = dict.fromkeys(chunks, (0.0, 0.0)) | {
        number: parts
        for number, parts in fuse_scores(found.lexical, found.semantic, query.kind).items()
        if number in chunks
    }
    by_words = {each.chunk.id: each for each in rank_chunks(query, fused, chunks)}
    for each in ranked:
        other = by_words[each.chunk.id]
        each.score += other.score
        each.signals |= other.signals
    ranked.sort(key=lambda each: -each.score)


@dataclass(frozen=True, slots=True)
class _Candidates:
    lexical: list[tuple[int, float]]
    # For each model the nearest chunks and their cosines.
    semantic: list[list[tuple[int, float]]]
    chunks: dict[int, IndexedChunk]
    # Keys that every model was seen to have.
    embedded_hashes: frozenset[int]


def _retrieve_candidates(index: SearchableIndex, query: Query, max_candidates: int) -> _Candidates:
    """The best chunks by their words, and by their meaning for each model."""
    catalogue = index.store.catalog
    words = index.store.lexical.search(query.terms, max_candidates)
    chunks: dict[int, IndexedChunk] = {}
    nearest: list[list[tuple[int, float]]] = []
    embedded: list[frozenset[int]] = []
    for arm in index.vector_indexes:
        found = arm.search(query.semantic_query, max_candidates)
        keys = [key for key, _ in found]
        by_key = catalogue.find_chunks_by_key(keys)
        nearest.append(
            [(chunk.id, cosine) for key, cosine in found for chunk in by_key.get(key, ())]
        )
        chunks |= {chunk.id: chunk for same in by_key.values() for chunk in same}
        embedded.append(frozenset(keys))
    chunks |= catalogue.find_chunks([number for number, _ in words if number not in chunks])
    return _Candidates(words, nearest, chunks, frozenset.intersection(*embedded or [frozenset()]))


def _compute_similarities(
    index: SearchableIndex, query: str, texts: Sequence[str]
) -> Sequence[float]:
    """What the first model says that is quick enough."""
    return next(
        filter(len, (arm.compute_similarities(query, texts) for arm in index.vector_indexes)), ()
    )


def _has_no_match(query: Query, candidates: _Candidates) -> bool:
    if candidates.lexical or not QUERY_STOPWORDS.isdisjoint(query.terms):
        return False
    return all(cosine < MIN_COSINE for nearest in candidates.semantic for _, cosine in nearest[:1])


# In larger repositories nothing is said, rather than that a person waits for it.
MAX_CHECKED_SYMBOLS = 100_000


def raise_for_unknown_filters(filters: Filters, index: SearchableIndex) -> None:
    """Raise WrongParam if no indexed file or symbol has what a filter names."""
    if filters.paths or filters.files:
        paths = list(index.store.catalog.list_files())
        names = [path.rpartition("/")[2] for path in paths]
        for value in filters.paths:
            if paths and not any(is_path_match(value, path) for path in paths):
                message = f'no indexed file has "{value}" in its path'
                raise build_unknown_value_error(message, value, _list_path_parts(paths))
        for value in filters.files:
            if names and not any(is_path_match(value, name) for name in names):
                raise build_unknown_value_error(
                    f'no indexed file has "{value}" in its name', value, names
                )
    for value in filters.symbols:
        _raise_for_unknown_symbol(value, index)


def _raise_for_unknown_symbol(value: str, index: SearchableIndex) -> None:
    pairs = index.store.catalog.list_symbol_names(MAX_CHECKED_SYMBOLS)
    is_all = len(pairs) < MAX_CHECKED_SYMBOLS
    if pairs and is_all and not any(has_symbol(value, *pair) for pair in pairs):
        names = dict.fromkeys(name for pair in pairs for part in pair for name in part)
        raise build_unknown_value_error(f'nothing indexed is called "{value}"', value, names)


def _list_path_parts(paths: Collection[str]) -> list[str]:
    """The names of folders and files, and the folders' whole paths."""
    parts = dict.fromkeys(part for path in paths for part in path.split("/"))
    folders = dict.fromkeys(path.rpartition("/")[0] for path in paths)
    return [*parts, *filter(None, folders)]


# Candidates of each list for each hit that is wanted: enough that chunks good in both lists meet.
# Benchmark: 50 candidates for ten hits .880, 100 .888, 200 .883.
CANDIDATES_PER_HIT = 10

MIN_CANDIDATES = 100

# Five times as many for who asks for accuracy, and a second look at the best of them. That takes
# three times as long. Benchmark with both: 100 .889, 200 .890, 300 .892, 500 .895, 800 .894.
ACCURATE_CANDIDATES_FACTOR = 5

# Who asks for very many hits gets them from these, so that a search never ranks a repository.
MAX_CANDIDATES = 10_000

# As many as settings.json may ask for; a million hits would be a reply of gigabytes.
MAX_HITS = 10_000

# While the settings change, models are closed and chunks are replaced by those of another cut, and
# a search in the middle of that asks again; it may meet the one and then the other.
MAX_ATTEMPTS = 3

# Says how well each text answers a query, 0..1; nothing if no reranker is selected or usable.
RerankFunction = Callable[[str, Sequence[str]], Sequence[float]]

# Told of an error and of the store it was met in; whether there is another store to ask now.
RecoverFunction = Callable[[BaseException, IndexStore], bool]


@dataclass(frozen=True, slots=True)
class Searcher:
    """Any number of threads may search at once; nobody waits for indexing."""

    root: Path
    index: SearchableIndex
    rerank: RerankFunction | None = None
    # By which indexing lets a search pass.
    throttle: BackgroundThrottle = field(default_factory=BackgroundThrottle)
    recover: RecoverFunction = lambda _error, _store: False

    def search(self, text: str, limit: int, *, accuracy: bool = False) -> list[Hit]:
        """The best chunks for a query, as ``found`` has them."""
        return self.run_search(text, limit, CancelToken(), accuracy=accuracy).hits

    def run_search(self, text: str, limit: int, cancel: CancelToken, *, accuracy: bool) -> HitList:
        """The best chunks for a query; with no vectors yet, those that share its words.

        ``accuracy`` looks at more chunks, and again at the best; it asks the selected reranker too,
        if there is one. Raises WrongParam for a regular expression that is not valid and a filter
        that nothing fits, RepoNotExist if the folder is gone, Cancelled if texts are still looked
        through by then.
        """
        request, limit = parse_search_expression(text), min(limit, MAX_HITS)
        if not request.query_text and not request.is_literal:
            return HitList([], [])
        for attempt in range(MAX_ATTEMPTS):
            arms, store = self.index.vector_indexes, self.index.store
            try:
                with self.throttle.query_running():
                    found, is_current = self._search_once(request, limit, cancel, accuracy=accuracy)
            except (WrongParam, Cancelled):
                raise
            except Exception as error:
                # What is whole answers, if the index was damaged and has been replaced.
                if attempt == MAX_ATTEMPTS - 1 or not self.recover(error, store):
                    raise
                continue
            if is_current and self.index.vector_indexes == arms:
                break
        if not found.hits:
            with self.throttle.query_running():
                self._raise_for_no_hits(request)
        return found

    def _raise_for_no_hits(self, request: SearchExpression) -> None:
        """Raise RepoNotExist if the folder is gone, WrongParam for a filter that nothing fits."""
        if not self.root.is_dir():
            raise RepoNotExist(
                f"the folder {encode_path(str(self.root))} is gone: it was deleted or moved, or its"
                " disk is away"
            )

        raise_for_unknown_filters(request.filters, self.index)

    def _search_once(
        self, request: SearchExpression, limit: int, cancel: CancelToken, *, accuracy: bool
    ) -> tuple[HitList, bool]:
        """What is found, and whether all of it was still there to be shown."""
        query, is_complete = parse_query(request.query_text), True
        if request.is_literal:
            ranked, is_complete = search_literal(self.index, request, limit, cancel)
        else:
            wanted = max(MIN_CANDIDATES, CANDIDATES_PER_HIT * limit)
            candidates = min(
                wanted * (ACCURATE_CANDIDATES_FACTOR if accuracy else 1), MAX_CANDIDATES
            )
            ranked = search_hybrid(
                self.index, query, request.filters, candidates, accuracy=accuracy
            )
            if accuracy and self.rerank:
                ranked = self._apply_reranker(query, ranked, self.rerank)
        hits, is_current = self._present_hits(ranked, limit)
        return HitList(hits, list_query_words(request, query), is_complete), is_current

    def _apply_reranker(
        self, query: Query, ranked: list[RankedChunk], rerank: RerankFunction
    ) -> list[RankedChunk]:
        heard = select_for_reranker(query, ranked)
        contents = self.index.store.catalog.read_chunk_texts([each.chunk.id for each in heard])
        texts = [_format_rerank_text(each, contents.get(each.chunk.id, "")) for each in heard]
        opinions = rerank(query.semantic_query, texts) if texts else ()
        return blend_reranker_scores(ranked, heard, opinions) if opinions else ranked

    def _present_hits(self, ranked: Sequence[RankedChunk], limit: int) -> tuple[list[Hit], bool]:
        """The first chunks whose files are still there, with their texts; and if these all are."""
        catalogue = self.index.store.catalog
        chosen: list[tuple[RankedChunk, str]] = []
        unshown = drop_overlapping(ranked)
        while len(chosen) < limit and (some := list(islice(unshown, limit - len(chosen)))):
            paths = list(dict.fromkeys(each.chunk.path for each in some))
            unchanged = self._find_unchanged_files(catalogue.find_files(paths))
            for each in some:
                if each.chunk.path in unchanged:
                    freshness = (
                        self._get_freshness(each)
                        if unchanged[each.chunk.path]
                        else CHANGED_SINCE_INDEXED
                    )
                    chosen.append((each, freshness))
        contents = catalogue.read_chunk_texts([each.chunk.id for each, _ in chosen])
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

    def _find_unchanged_files(self, files: Mapping[str, FileRecord]) -> dict[str, bool]:
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

    def _get_freshness(self, ranked: RankedChunk) -> str:
        if ranked.is_embedded:
            return FRESH
        pending = any(
            arm.is_missing(ranked.chunk.text_hash, ranked.chunk.max_chunk_chars)
            for arm in self.index.vector_indexes
        )
        return EMBEDDING_PENDING if pending else FRESH


def _format_rerank_text(ranked: RankedChunk, content: str) -> str:
    """What a reranker reads of a chunk: where it stands, and it."""
    return f"{ranked.chunk.path}\n{build_embedding_text(ranked.chunk.chunk.symbols, content)}"
