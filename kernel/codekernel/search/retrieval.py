"""Retrieve the candidates of a query: lexical, semantic, and chunks of mentioned files."""

import os
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cache, partial
from itertools import repeat
from operator import attrgetter
from typing import NamedTuple, Protocol

from codekernel.domain.index import IndexedChunk
from codekernel.search.boosts import (
    MAX_MENTIONS,
    MENTIONED_FILE_BOOST,
    contains_line,
    score_path_mention,
)
from codekernel.search.filters import NO_FILTERS, Filters
from codekernel.search.query_parser import QUERY_STOPWORDS, Query
from codekernel.search.searchable import SearchableStore

# A filter rejects most candidates, so more are retrieved.
FILTERED_CANDIDATES_FACTOR = 10

# Who may read a tenth of a repository needs ten times the candidates.
MAX_RESTRICTED_CANDIDATES = 10_000

MAX_MENTIONED_CHUNKS = 200

# What only one list found is looked up among so many of the other: a candidate without a score
# there would count as one that has nothing of it. NDCG@10 of histories and of Chinese questions:
# without .776 .827, 200 .780 .831, 300 .781 .833, 500 .783 .833, 1,000 .784 .833.
SCORED_CHUNKS = 500

# If no chunk shares a word with the query, the nearest text must be at least so near, or nothing
# matches. On the 32 repositories with the static model 89 % of made-up words and 99 % of words of
# other trades have nothing nearer; of the benchmark's names 1 %, of its questions 4 %, but those
# all share words with the code, so that none is rejected. A sentence, which has stop words, is
# always answered: in a small folder it may find what it means with a cosine of .1.
MIN_COSINE = 0.4

# Below, handing a search to a thread and back costs more than there is to gain: 0.1 ms.
MIN_PARALLEL_DOCUMENTS = 50_000

ScoredIds = Sequence[tuple[int, float]]

_get_text_hash = attrgetter("text_hash")


class SemanticIndex(Protocol):
    """The vectors of one embedding config."""

    @property
    def name(self) -> str:
        """Return the name of the config: cosines of one name are comparable among indexes."""

    @property
    def is_contextual(self) -> bool:
        """Return whether a contextual model, no static one, made vectors of nearly all texts."""

    def search(self, query: str, k: int) -> list[tuple[int, float]]:
        """Return the keys of the nearest texts and their cosines, best first."""

    def is_missing(self, text_hash: int, max_chunk_chars: int) -> bool:
        """Return whether a text of this config's chunk size is still to be embedded."""


class CandidateCatalog(Protocol):
    """The chunks of one repository or of several."""

    def find_chunks(self, ids: Sequence[int]) -> dict[int, IndexedChunk]:
        """Return the chunks with these ids that still exist."""

    def find_chunks_by_key(self, keys: Sequence[int]) -> dict[int, list[IndexedChunk]]:
        """Return for each key the chunks with that text."""

    def find_files_named(self, names: Collection[str]) -> Mapping[str, int]:
        """Return the ids of the files with one of these names, with or without extension."""

    def list_chunks(self, file_id: int) -> list[IndexedChunk]:
        """Return the chunks of one file in order."""

    def read_chunk_texts(self, ids: Sequence[int]) -> dict[int, str]:
        """Return the text of each chunk that still exists, by its id."""


class CandidateLexical(Protocol):
    """The words of one repository or of several."""

    @property
    def document_count(self) -> int:
        """Return the number of chunks."""

    def search(self, terms: Sequence[str], k: int) -> list[tuple[int, float]]:
        """Return the ``k`` best chunks with any of ``terms`` and their BM25 scores, best first."""


class CandidateStore(Protocol):
    """Chunks and words."""

    @property
    def catalog(self) -> CandidateCatalog:
        """Return the chunks."""

    @property
    def lexical(self) -> CandidateLexical:
        """Return the words."""


class CandidateIndex(Protocol):
    """What candidates are retrieved from: one repository, or several as one."""

    @property
    def store(self) -> CandidateStore:
        """Return the chunks and the words."""

    @property
    def vector_indexes(self) -> Sequence[SemanticIndex]:
        """Return the vectors of the embedding configs that are ready."""


class SearchableIndex(CandidateIndex, Protocol):
    """The index of one repository."""

    @property
    def store(self) -> SearchableStore:
        """Return the catalog and the lexical index."""

    @property
    def vector_indexes(self) -> Sequence[SemanticIndex]:
        """Return the vectors of the embedding configs that are ready."""


@dataclass(frozen=True, slots=True)
class NarrowedIndexView:
    """An index with some of its vectors, or none."""

    index: SearchableIndex
    vector_indexes: Sequence[SemanticIndex] = ()

    @property
    def store(self) -> SearchableStore:
        """Return the catalog and the lexical index."""
        return self.index.store


class Candidates(NamedTuple):
    """Chunks that may answer a query, and why they were retrieved."""

    # Ids and BM25 scores.
    lexical: ScoredIds
    # For each embedding config ids and cosines.
    semantic: Sequence[ScoredIds]
    # BM25 scores and, for each embedding config, cosines of all candidates that have them.
    lexical_scores: Mapping[int, float]
    cosines: Sequence[Mapping[int, float]]
    # For each embedding config, whether its model is contextual.
    contextual: Sequence[bool]
    # Ids of chunks whose file or line the query mentions.
    mentioned: Sequence[int]
    # Those that the filters accept.
    chunks: Mapping[int, IndexedChunk]
    # Hashes of texts that every embedding config is known to have.
    embedded_hashes: frozenset[int]


def retrieve_candidates(
    index: CandidateIndex, query: Query, max_candidates: int, filters: Filters = NO_FILTERS
) -> Candidates:
    """Return the best chunks of the lexical index and of each vector index, and mentioned ones."""
    catalog = index.store.catalog
    has_filters = filters != NO_FILTERS
    count = FILTERED_CANDIDATES_FACTOR * max_candidates if has_filters else max_candidates
    if filters.is_readable:
        count = MAX_RESTRICTED_CANDIDATES
    scored_count = max(count, SCORED_CHUNKS)
    vector_indexes = index.vector_indexes  # the settings may change meanwhile
    scored, compared = search_indexes(index.store, vector_indexes, query, scored_count)
    lexical = scored[:count]
    chunks: dict[int, IndexedChunk] = {}
    semantic: list[ScoredIds] = []
    embedded: list[frozenset[int]] = []
    for nearest in (each[:count] for each in compared):
        keys = [key for key, _ in nearest]
        by_key = catalog.find_chunks_by_key(keys)
        semantic.append(
            [(chunk.id, cosine) for key, cosine in nearest for chunk in by_key.get(key, ())]
        )
        chunks |= {chunk.id: chunk for same in by_key.values() for chunk in same}
        embedded.append(frozenset(keys))
    chunks |= catalog.find_chunks([number for number, _ in lexical if number not in chunks])
    mentioned = find_mentioned_chunks(catalog, query)
    chunks |= {chunk.id: chunk for chunk in mentioned}
    if has_filters:
        chunks = {number: chunk for number, chunk in chunks.items() if filters.accepts(chunk)}
    if filters.is_readable:  # scores are relative to the best: it must not be a secret one
        lexical = [each for each in lexical if each[0] in chunks][:max_candidates]
        semantic = [[it for it in near if it[0] in chunks][:max_candidates] for near in semantic]
        mentioned = [chunk for chunk in mentioned if chunk.id in chunks]
        hashes = {chunk.text_hash for chunk in chunks.values()}
        compared = [[it for it in near if it[0] in hashes] for near in compared]
        kept = {number for near in (lexical, *semantic) for number, _ in near}
        kept |= {chunk.id for chunk in mentioned}
        chunks = {number: chunk for number, chunk in chunks.items() if number in kept}
    return Candidates(
        lexical,
        semantic,
        {number: score for number, score in scored if number in chunks},
        [_assign_cosines(each, chunks, scored_count) for each in compared],
        [
            each.is_contextual and bool(it)
            for each, it in zip(vector_indexes, compared, strict=True)
        ],
        [chunk.id for chunk in mentioned],
        chunks,
        frozenset.intersection(*embedded or [frozenset()]),
    )


def _assign_cosines(
    compared: ScoredIds, chunks: Mapping[int, IndexedChunk], scored_count: int
) -> dict[int, float]:
    """Return the cosine of each chunk whose text has one; of those not compared, the largest."""
    by_key = dict(compared)
    hashes = map(_get_text_hash, chunks.values())
    if len(compared) < scored_count:
        pairs = zip(chunks, map(by_key.get, hashes), strict=True)
        return {number: cosine for number, cosine in pairs if cosine is not None}
    farthest = compared[-1][1]
    return dict(zip(chunks, map(by_key.get, hashes, repeat(farthest)), strict=True))


def search_indexes(
    store: CandidateStore,
    vector_indexes: Sequence[SemanticIndex],
    query: Query,
    count: int,
    min_parallel_documents: int = MIN_PARALLEL_DOCUMENTS,
) -> tuple[ScoredIds, list[ScoredIds]]:
    """Search the lexical index and each vector index; large ones at the same time.

    All of them leave the interpreter lock while they scan.
    """
    lexical = store.lexical
    search = partial(_search_vectors, query=query.semantic_query, count=count)
    if not vector_indexes or lexical.document_count < min_parallel_documents:
        return lexical.search(query.terms, count), list(map(search, vector_indexes))
    under_way = [_load_executor().submit(search, each) for each in vector_indexes]
    try:
        return lexical.search(query.terms, count), [each.result() for each in under_way]
    finally:
        wait(under_way)  # no thread looks at an index that is about to be closed


def _search_vectors(vector_index: SemanticIndex, query: str, count: int) -> ScoredIds:
    return vector_index.search(query, count)


@cache
def _load_executor() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="vectors")


def has_match(query: Query, candidates: Candidates) -> bool:
    """Return whether any candidate is near enough to be an answer."""
    if candidates.mentioned or candidates.lexical or not QUERY_STOPWORDS.isdisjoint(query.terms):
        return True
    return any(cosine >= MIN_COSINE for nearest in candidates.semantic for _, cosine in nearest[:1])


def find_mentioned_chunks(catalog: CandidateCatalog, query: Query) -> list[IndexedChunk]:
    """Return the chunks of the files that the query mentions: at the line, or all of a file.

    The lexical index alone may not retrieve them.
    """
    mentions = query.mentions[:MAX_MENTIONS]
    if not mentions:
        return []
    files = catalog.find_files_named({mention.path.rpartition("/")[2] for mention in mentions})
    found: dict[int, IndexedChunk] = {}
    for path, file_id in files.items():
        lines = [
            mention.line
            for mention in mentions
            if score_path_mention(mention.path, path) >= MENTIONED_FILE_BOOST
        ]
        for chunk in catalog.list_chunks(file_id) if lines else ():
            if None in lines or any(contains_line(chunk, line) for line in lines):
                found[chunk.id] = chunk
        if len(found) >= MAX_MENTIONED_CHUNKS:
            break
    return list(found.values())[:MAX_MENTIONED_CHUNKS]
