"""One ranking of several repositories: they are searched as if they were one.

merged_index.py makes one index of theirs, which the pipeline of a repository ranks: a chunk is
compared with all others by the same words, cosines and boosts. A repository that cannot be searched
is left out and named. Exact strings and regexes are looked for in each repository by itself.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from typing import NamedTuple, TypeVar

from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import Hit, HitList
from codekernel.errors import Cancelled, KernelError, WrongParam
from codekernel.search.filters import Filters
from codekernel.search.merged_index import (
    IndexMember,
    MemberError,
    MergedIndex,
    ask_member,
    restore_chunk,
    split_number,
)
from codekernel.search.pipeline import MAX_ATTEMPTS, MAX_HITS, Searcher, rank_expression
from codekernel.search.query_parser import parse_query
from codekernel.search.query_syntax import SearchExpression, parse_search_expression
from codekernel.search.ranking import RankedChunk, drop_overlapping
from codekernel.search.scopes import resolve_scopes

# Repositories that are opened, or scanned for an exact string, at a time; more than cores, because
# some wait for an index.
MAX_CONCURRENT_REPOSITORIES = 16


class RepositoryHit(NamedTuple):
    """A hit and the name of its repository; scores are comparable among repositories."""

    repo_name: str
    hit: Hit


class RepositoryOutcome(NamedTuple):
    """How the search of one repository went; ``error`` if it could not be searched."""

    repo_name: str
    # Of the hits that are returned.
    hit_count: int = 0
    error: str = ""
    # What was not searched of it, as a sentence.
    gap: str = ""


@dataclass(frozen=True, slots=True)
class FederatedHits:
    """Hits of several repositories, best first, and how each of them was searched."""

    hits: Sequence[RepositoryHit]
    highlight_terms: Sequence[str]
    outcomes: Sequence[RepositoryOutcome]
    is_complete: bool = True


@dataclass(frozen=True, slots=True)
class FederatedQuery:
    """A query to several repositories; without ``semantic`` they are searched by words alone."""

    text: str
    limit: int
    accuracy: bool = False
    semantic: bool = True


# Returns the searcher of a repository, and what it lacks, as a sentence. Raises KernelError.
OpenSearcher = Callable[[], tuple[Searcher, str]]


Searchers = Mapping[str, Searcher]
Errors = dict[str, KernelError]

_Asked = TypeVar("_Asked")
_Answer = TypeVar("_Answer")


def search_repositories(
    repositories: Mapping[str, OpenSearcher], asked: FederatedQuery, cancel: CancelToken
) -> FederatedHits:
    """Search repositories by name; one that fails does not keep the others back.

    Raises WrongParam if every one refuses the query, Cancelled.
    """
    expression = parse_search_expression(asked.text)  # refuses what nobody would understand
    asked = replace(asked, limit=min(asked.limit, MAX_HITS))
    errors: Errors = {}
    opened = _ask_each(repositories, lambda open_searcher: open_searcher(), errors)
    searchers = {name: searcher for name, (searcher, _) in opened.items()}
    is_complete = True
    terms: Iterable[str] = parse_query(expression.query_text).terms
    hits: list[RepositoryHit] = []
    if expression.is_literal:
        found = _find_literally(searchers, asked, cancel, errors)
        hits = _take_best(found, asked.limit)
        terms = dict.fromkeys(term for each in found.values() for term in each.highlight_terms)
        is_complete = all(each.is_complete for each in found.values())
    elif expression.query_text:
        hits = _rank_together(searchers, expression, asked, errors)
    if errors and all(isinstance(errors.get(name), WrongParam) for name in repositories):
        raise next(iter(errors.values()))
    counts = Counter(name for name, _ in hits)
    outcomes = [
        RepositoryOutcome(name, error=str(errors[name]))
        if name in errors
        else RepositoryOutcome(
            name, counts[name], gap=opened[name][1] or searchers[name].describe_gap()
        )
        for name in repositories
    ]
    return FederatedHits(hits, list(terms), outcomes, is_complete)


def _ask_each(
    asked: Mapping[str, _Asked], work: Callable[[_Asked], _Answer], errors: Errors
) -> dict[str, _Answer]:
    """Return the answers by name, asked at the same time; who has none is among the errors."""
    under_way = {name: _load_executor().submit(work, each) for name, each in asked.items()}
    answers: dict[str, _Answer] = {}
    for name, running in under_way.items():
        try:
            answers[name] = running.result()
        except Cancelled:
            raise
        except KernelError as error:
            errors[name] = error
    return answers


@cache
def _load_executor() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(MAX_CONCURRENT_REPOSITORIES, thread_name_prefix="federation")


def _find_literally(
    searchers: Searchers, asked: FederatedQuery, cancel: CancelToken, errors: Errors
) -> dict[str, HitList]:
    return _ask_each(
        searchers,
        lambda each: each.run_search(asked.text, asked.limit, cancel, accuracy=False),
        errors,
    )


def _take_best(found: Mapping[str, HitList], limit: int) -> list[RepositoryHit]:
    """Return the first hits of each repository in turn: all match, and none matches better."""
    hits = [
        (-hit.score, place, RepositoryHit(name, hit))
        for name, each in found.items()
        for place, hit in enumerate(each.hits)
    ]
    hits.sort(key=lambda each: (each[0], each[1], each[2].repo_name))
    return [each[2] for each in hits[:limit]]


def _rank_together(
    searchers: Searchers, expression: SearchExpression, asked: FederatedQuery, errors: Errors
) -> list[RepositoryHit]:
    """Return the best hits of all; a repository that fails is left out and among the errors."""
    remaining, attempts = dict(searchers), Counter[str]()
    hits: list[RepositoryHit] = []
    with ExitStack() as running:
        for searcher in searchers.values():
            running.enter_context(searcher.throttle.query_running())
        for _ in range(MAX_ATTEMPTS * len(searchers)):
            members = _list_members(remaining, expression.filters, errors)
            try:
                hits = _rank_once(members, remaining, expression, asked, errors)
            except MemberError as failure:
                member, cause = members[failure.place], failure.__cause__
                attempts[member.name] += 1
                is_last = attempts[member.name] == MAX_ATTEMPTS
                if cause and not is_last and remaining[member.name].recover(cause, member.store):
                    continue
                if not isinstance(cause, KernelError):
                    raise cause or failure from None
                errors[member.name] = cause
                del remaining[member.name]
                continue
            # Settings that changed meanwhile replaced chunks by those of another size.
            if all(remaining[it.name].index.vector_indexes == it.vector_indexes for it in members):
                break
    return hits


def _list_members(searchers: Searchers, filters: Filters, errors: Errors) -> list[IndexMember]:
    """Return the indexes that have what the filters name."""
    members: list[IndexMember] = []
    for name, searcher in searchers.items():
        index = searcher.index
        vector_indexes, store = index.vector_indexes, index.store
        own = replace(filters, repos=(), not_repos=(), is_readable=searcher.is_readable)
        try:
            own = resolve_scopes(own, store.catalog)
        except KernelError as error:
            errors[name] = error
        else:
            members.append(IndexMember(name, store, vector_indexes, own))
    return members


def _rank_once(
    members: Sequence[IndexMember],
    searchers: Searchers,
    expression: SearchExpression,
    asked: FederatedQuery,
    errors: Errors,
) -> list[RepositoryHit]:
    merged = MergedIndex(members)
    rerank = next(filter(None, (each.rerank for each in searchers.values())), None)
    ranking = rank_expression(
        merged,
        replace(expression, filters=merged.build_filters()),
        asked.limit,
        rerank if asked.accuracy else None,
    )
    hits: list[RepositoryHit] = []
    chunks = drop_overlapping(ranking.chunks)
    while batch := list(islice(chunks, asked.limit - len(hits))):
        hits += _present(batch, members, searchers)
    found = {split_number(each.chunk.id)[0] for each in ranking.chunks}
    for place, member in enumerate(members):
        if place not in found:
            try:
                searchers[member.name].raise_for_no_hits(member.filters)
            except KernelError as error:
                errors[member.name] = error
    return hits


def _present(
    batch: Sequence[RankedChunk], members: Sequence[IndexMember], searchers: Searchers
) -> list[RepositoryHit]:
    """Return the hits in their order; those whose files are gone are left out."""
    by_place: dict[int, list[RankedChunk]] = {}
    for each in batch:
        place, _ = split_number(each.chunk.id)
        own = restore_chunk(each.chunk)
        by_place.setdefault(place, []).append(each._replace(chunk=own))
    shown: dict[tuple[int, int], RepositoryHit] = {}
    for place, ranked in by_place.items():
        name = members[place].name
        found = ask_member(place, searchers[name].present, ranked)
        shown |= {(place, hit.chunk.id): RepositoryHit(name, hit) for hit in found}
    return [shown[key] for each in batch if (key := split_number(each.chunk.id)) in shown]
