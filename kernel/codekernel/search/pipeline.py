"""The search pipeline of one repository.

parse     query_syntax.py   text -> filters, exact strings, regex, and plain text
          long_query.py     a pasted report -> the questions it is made of
          query_parser.py   plain text -> its kind, terms, names and file mentions
retrieve  retrieval.py      lexical, semantic and mentioned candidates
          text_scan.py      instead: the chunks that contain an exact string or match a regex
fuse      ranking.py        one score of BM25 and cosines
boost     boosts.py         defined names, names in the path, mentions, kind of file
          phrase_match.py   words of the query that stand word for word in code
group     ranking.py        the best chunk of a file first, its other chunks lowered
learn     learned_ranking.py  sentences only: trees raise some of the first files
rerank    reranking.py      accurate searches only: the selected model reads the first files
select    here              no overlaps, no deleted files
present   here              texts, whether their files have changed, scores 0..1
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from codekernel.domain.concurrency import BackgroundThrottle, CancelToken
from codekernel.domain.index import (
    CHANGED_SINCE_INDEXED,
    EMBEDDING_PENDING,
    FRESH,
    FileRecord,
    Hit,
    HitList,
    IndexedChunk,
    Signal,
)
from codekernel.domain.untrusted_text import encode_path
from codekernel.errors import Cancelled, RepoNotExist, WrongParam
from codekernel.search.boosts import apply_boosts, is_any_file_named
from codekernel.search.filters import NO_FILTERS, Filters, raise_for_unknown_filters
from codekernel.search.learned_ranking import rank_by_trees
from codekernel.search.long_query import MIN_LONG_QUERY_WORDS, split_long_query
from codekernel.search.phrase_match import (
    PhraseMatch,
    boost_phrases,
    measure_phrases,
    select_phrase_candidates,
)
from codekernel.search.query_parser import Query, parse_query
from codekernel.search.query_syntax import SearchExpression, parse_search_expression
from codekernel.search.ranking import (
    PROSE_KINDS,
    RankedChunk,
    drop_overlapping,
    fuse_rankings,
    fuse_scores,
    group_by_file,
)
from codekernel.search.ranking_weights import DEFAULT_WEIGHTS, RankingWeights, read_weights
from codekernel.search.related import rank_related
from codekernel.search.reranking import RerankFunction, rerank_first_files
from codekernel.search.retrieval import (
    CandidateIndex,
    Candidates,
    SearchableIndex,
    SemanticIndex,
    has_match,
    retrieve_candidates,
)
from codekernel.search.scopes import resolve_scopes
from codekernel.search.searchable import SearchableStore
from codekernel.search.text_scan import MAX_MATCHES, find_regex_matches, scan_texts

# Candidates of each list, however many hits are wanted: the totals of files and the scale of the
# cosines depend on the candidates, and so would the order. NDCG@10 of the repositories in English
# and Chinese, of their histories and of CoSQA: 100 .889 .825 .773 .455, 150 .890 .830 .776 .449,
# 200 .891 .830 .774 .449, 300 .891 .835 .773 .443, 500 .889 .836 .772 .437. More take longer.
CANDIDATES = 100

# If those are not enough, so many for each hit; what they add comes after the first ones.
CANDIDATES_PER_HIT = 10

# A request for very many hits is answered from these, so that a search never ranks a repository.
MAX_CANDIDATES = 10_000

# As many as settings.json may ask for; a million hits would be a reply of gigabytes.
MAX_HITS = 10_000

# Exact matches have an order of their own; each scores a little less than the one before.
EXACT_RANK_DECAY = 0.999

# Of what matches as a whole, or not at all: a score that is no matter of degree.
_LITERAL_SIGNALS = frozenset({Signal.EXACT})

# A search that meets a settings change is repeated: models are closed, then chunks are replaced.
MAX_ATTEMPTS = 3

# Takes an error and the store it came from; returns whether there is another store to search now.
RecoverFunction = Callable[[BaseException, SearchableStore], bool]


class Ranking(NamedTuple):
    """Ranked chunks, best first."""

    chunks: Sequence[RankedChunk] = ()
    # Hashes of texts that every embedding config is known to have.
    embedded_hashes: frozenset[int] = frozenset()
    # False if an exact string or a regex may match in more places.
    is_complete: bool = True
    # Whether no candidate's file is named after the query.
    is_unnamed: bool = False


class RetrievedQuestion(NamedTuple):
    """A query, its candidates, and what of it stands word for word in some of them."""

    query: Query
    candidates: Candidates
    phrases: Mapping[int, PhraseMatch]


def retrieve_question(
    index: CandidateIndex, query: Query, filters: Filters, max_candidates: int
) -> RetrievedQuestion | None:
    """Return the chunks that share words or meaning with a query; None if none does."""
    candidates = retrieve_candidates(index, query, max_candidates, filters)
    if not has_match(query, candidates):
        return None
    compared = select_phrase_candidates(query, candidates.lexical, candidates.chunks)
    texts = index.store.catalog.read_chunk_texts(compared) if compared else {}
    return RetrievedQuestion(query, candidates, measure_phrases(query, texts) if texts else {})


def rank_question(retrieved: RetrievedQuestion, weights: RankingWeights) -> Ranking:
    """Rank what was retrieved; learned weights are those of sentences."""
    query, candidates, phrases = retrieved
    chunks, is_prose = candidates.chunks, query.kind in PROSE_KINDS
    is_unnamed = is_prose and not is_any_file_named(query, chunks.values())
    weights = weights if is_prose else DEFAULT_WEIGHTS
    fused = fuse_scores(candidates, query.kind, weights, is_unnamed=is_unnamed)
    boosted = apply_boosts(query, fused, chunks, weights, is_unnamed=is_unnamed)
    if phrases:
        boosted = boost_phrases(boosted, phrases)
    grouped = group_by_file(boosted, weights)
    return Ranking(grouped, candidates.embedded_hashes, is_unnamed=is_unnamed)


def search_hybrid(
    index: CandidateIndex,
    query: Query,
    filters: Filters,
    max_candidates: int,
    weights: RankingWeights = DEFAULT_WEIGHTS,
) -> Ranking:
    """Rank the chunks that share words or meaning with a query."""
    retrieved = retrieve_question(index, query, filters, max_candidates)
    return rank_question(retrieved, weights) if retrieved else Ranking()


def rank_parts(parts: Sequence[RetrievedQuestion | None], weights: RankingWeights) -> Ranking:
    """Return the order that the parts of one text agree on."""
    rankings = [rank_question(part, weights) if part else Ranking() for part in parts]
    if len(parts) == 1:
        (part,), (ranking,) = parts, rankings
        if part and part.query.kind in PROSE_KINDS:
            learned = rank_by_trees(part.query, part.candidates, ranking.chunks)
            ranking = ranking._replace(chunks=learned)
        return ranking
    embedded = frozenset[int]().union(*(each.embedded_hashes for each in rankings))
    return Ranking(fuse_rankings([each.chunks for each in rankings]), embedded)


def _append_ranking(first: Ranking, more: Ranking) -> Ranking:
    """Return the first ranking and, after it, the chunks that only the other one has."""
    known = {each.chunk.id for each in first.chunks}
    added = [each for each in more.chunks if each.chunk.id not in known]
    if not added:
        return first
    last = first.chunks[-1].score if first.chunks else added[0].score
    factor = min(1.0, last / added[0].score) if added[0].score > 0 else 1.0
    lowered = [
        RankedChunk(chunk, factor * score, {name: factor * it for name, it in signals.items()})
        for chunk, score, signals in added
    ]
    embedded = first.embedded_hashes | more.embedded_hashes
    return Ranking([*first.chunks, *lowered], embedded)


def search_literal(
    index: SearchableIndex, expression: SearchExpression, limit: int, cancel: CancelToken
) -> Ranking:
    """Rank the chunks that contain the exact strings and match the regex.

    Definitions come first and tests last. Raises Cancelled.
    """
    scanned = scan_texts(index.store, expression, MAX_MATCHES, cancel)
    ranked = [
        RankedChunk(chunk, EXACT_RANK_DECAY**place, {Signal.EXACT: EXACT_RANK_DECAY**place})
        for place, chunk in enumerate(scanned.chunks)
    ]
    return Ranking(ranked, is_complete=scanned.is_complete and len(ranked) <= limit)


def rank_expression(
    index: CandidateIndex,
    expression: SearchExpression,
    limit: int,
    rerank: RerankFunction | None,
    weights: RankingWeights = DEFAULT_WEIGHTS,
) -> Ranking:
    """Rank what a text asks for, or the parts of a long one; more than the first if need be."""
    text, filters = expression.query_text, expression.filters
    query = parse_query(text)
    is_long = len(text.split()) >= MIN_LONG_QUERY_WORDS
    parts = split_long_query(text) if is_long else (text,)
    questions = [query] if len(parts) == 1 else list(map(parse_query, parts))
    retrieved = [retrieve_question(index, question, filters, CANDIDATES) for question in questions]
    ranking = rank_parts(retrieved, weights)
    # A name, a path or a single error is a matter of words.
    if rerank and (is_long or query.kind in PROSE_KINDS):
        catalog = index.store.catalog
        chunks = rerank_first_files(
            catalog, query, ranking.chunks, rerank, is_unnamed=ranking.is_unnamed
        )
        ranking = ranking._replace(chunks=chunks)
    if len(ranking.chunks) >= limit:
        return ranking
    count = min(CANDIDATES_PER_HIT * limit, MAX_CANDIDATES)
    return _append_ranking(ranking, search_hybrid(index, query, filters, count, weights))


@dataclass(frozen=True, slots=True)
class Searcher:
    """Searches one repository; any number of threads at once, none waits for indexing."""

    root: Path
    index: SearchableIndex
    rerank: RerankFunction | None = None
    # Makes indexing yield to a running search.
    throttle: BackgroundThrottle = field(default_factory=BackgroundThrottle)
    recover: RecoverFunction = lambda _error, _store: False
    # Of a person who may not read everything: the paths that are there for them.
    is_readable: Callable[[str], bool] | None = None
    # What was not searched, as a sentence.
    describe_gap: Callable[[], str] = lambda: ""

    def search(self, text: str, limit: int, *, accuracy: bool = False) -> list[Hit]:
        """Return the hits of ``run_search``."""
        return self.run_search(text, limit, CancelToken(), accuracy=accuracy).hits

    def run_search(self, text: str, limit: int, cancel: CancelToken, *, accuracy: bool) -> HitList:
        """Return the best chunks for a query; lexical matches alone while there are no vectors.

        ``accuracy`` asks the selected reranker about the first files.
        Raises WrongParam for an invalid regex and for a filter that matches nothing, RepoNotExist
        if the folder is gone, Cancelled if texts are still scanned by then.
        """
        expression, limit = self._parse(text), min(limit, MAX_HITS)
        if not expression.query_text and not expression.is_literal:
            return HitList([], [])
        for attempt in range(MAX_ATTEMPTS):
            vector_indexes, store = self.index.vector_indexes, self.index.store
            try:
                with self.throttle.query_running():
                    found, is_current = self._search_once(
                        expression, limit, cancel, accuracy=accuracy
                    )
            except (WrongParam, Cancelled):
                raise
            except Exception as error:
                # A damaged index may have been replaced by now.
                if attempt == MAX_ATTEMPTS - 1 or not self.recover(error, store):
                    raise
                continue
            if is_current and self.index.vector_indexes == vector_indexes:
                break
        if not found.hits:
            with self.throttle.query_running():
                self.raise_for_no_hits(expression.filters)
        return found

    def _parse(self, text: str) -> SearchExpression:
        expression = parse_search_expression(text)
        if self.is_readable is None:
            return expression
        filters = replace(expression.filters, is_readable=self.is_readable)
        return replace(expression, filters=filters)

    def prepare(self, text: str, limit: int) -> Callable[[RankingWeights], list[str]]:
        """Retrieve what a text asks for; return what ranks the paths of its hits by weights."""
        parts = [
            retrieve_question(self.index, parse_query(part), NO_FILTERS, CANDIDATES)
            for part in split_long_query(text)
        ]

        def rank(weights: RankingWeights) -> list[str]:
            first = islice(drop_overlapping(rank_parts(parts, weights).chunks), limit)
            return [each.chunk.path for each in first]

        return rank

    def find_related(self, path: str, line: int, limit: int) -> list[Hit]:
        """Return the chunks that are most like that at a line, from 1. Raises WrongParam."""
        with self.throttle.query_running():
            ranking = Ranking(rank_related(self.index, path, line, limit, self.is_readable))
            return self._present(self._select(ranking, limit), ranking.embedded_hashes)

    def _search_once(
        self, expression: SearchExpression, limit: int, cancel: CancelToken, *, accuracy: bool
    ) -> tuple[HitList, bool]:
        """Return the hits, and whether the index still had all of their texts."""
        query = parse_query(expression.query_text)
        if expression.filters.scopes or expression.filters.not_scopes:
            filters = resolve_scopes(expression.filters, self.index.store.catalog)
            expression = replace(expression, filters=filters)
        if expression.is_literal:
            ranking = search_literal(self.index, expression, limit, cancel)
        else:
            weights = read_weights(self.index.store.folder)
            rerank = self.rerank if accuracy else None
            ranking = rank_expression(self.index, expression, limit, rerank, weights)
        selected = self._select(ranking, limit)
        hits = self._present(selected, ranking.embedded_hashes)
        contents = [hit.content for hit in hits]
        marked = find_regex_matches(expression, contents) if expression.regex else ()
        highlight_terms = [*query.terms, *expression.exact_strings, *marked]
        ranked = tuple(each.chunk for each in ranking.chunks)
        found = HitList(hits, highlight_terms, ranking.is_complete, self.describe_gap(), ranked)
        return found, len(hits) == len(selected)

    def _select(self, ranking: Ranking, limit: int) -> list[tuple[RankedChunk, bool]]:
        """Return the first chunks that do not overlap and whose files exist; True if unchanged."""
        selected: list[tuple[RankedChunk, bool]] = []
        remaining = drop_overlapping(ranking.chunks)
        while len(selected) < limit and (batch := list(islice(remaining, limit - len(selected)))):
            paths = list(dict.fromkeys(each.chunk.path for each in batch))
            unchanged = self.check_files(self.index.store.catalog.find_files(paths))
            existing = [each for each in batch if each.chunk.path in unchanged]
            selected += [(each, unchanged[each.chunk.path]) for each in existing]
        return selected

    def present(self, ranked: Sequence[RankedChunk]) -> list[Hit]:
        """Return the hits of chunks that were ranked elsewhere and whose files exist."""
        return self._present(self._select(Ranking(ranked), len(ranked)), frozenset())

    def _present(
        self, selected: Sequence[tuple[RankedChunk, bool]], embedded_hashes: frozenset[int]
    ) -> list[Hit]:
        """Return the hits; a chunk that the index has lost meanwhile is left out."""
        ids = [each.chunk.id for each, _ in selected]
        contents = self.index.store.catalog.read_chunk_texts(ids)
        vectors = self.index.vector_indexes
        return [
            Hit(
                chunk=chunk,
                content=contents[chunk.id],
                score=score if signals.keys() == _LITERAL_SIGNALS else score / (score + 1),  # 0..1
                freshness=_get_freshness(
                    chunk, vectors, embedded_hashes, is_unchanged=is_unchanged
                ),
                signals=signals,
            )
            for (chunk, score, signals), is_unchanged in selected
            if chunk.id in contents
        ]

    def check_files(self, files: Mapping[str, FileRecord]) -> dict[str, bool]:
        """Return for each file that exists whether it is as it was when it was indexed."""
        root, unchanged = os.fspath(self.root), {}
        for path, known in files.items():
            try:
                now = os.stat(os.path.join(root, path))  # noqa: PTH116, PTH118 - a third of the time
            except OSError:
                continue
            unchanged[path] = now.st_size == known.size and known.mtime_ns in {now.st_mtime_ns, -1}
        return unchanged

    def raise_for_no_hits(self, filters: Filters) -> None:
        """Raise RepoNotExist if the folder is gone, WrongParam if a filter matches nothing."""
        if not self.root.is_dir():
            raise RepoNotExist(
                f"the folder {encode_path(str(self.root))} is gone: it was deleted or moved, or its"
                " disk is away"
            )
        raise_for_unknown_filters(filters, self.index.store.catalog)


def _get_freshness(
    chunk: IndexedChunk,
    vector_indexes: Sequence[SemanticIndex],
    embedded_hashes: frozenset[int],
    *,
    is_unchanged: bool,
) -> str:
    """Return how a hit compares with its file; ``embedded_hashes`` are known to have vectors."""
    if not is_unchanged:
        return CHANGED_SINCE_INDEXED
    is_pending = chunk.text_hash not in embedded_hashes and any(
        vectors.is_missing(chunk.text_hash, chunk.max_chunk_chars) for vectors in vector_indexes
    )
    return EMBEDDING_PENDING if is_pending else FRESH
