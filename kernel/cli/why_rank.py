"""``codekernel doctor why FILE QUERY``: where a file stands among the answers, and why there."""

import sys
from collections.abc import Iterator
from pathlib import Path

from kernel.cli.search import up_to_date
from kernel.cli.search_index import FolderIndex, Searchable
from kernel.cli.search_models import settings_and_plan, shelf
from kernel.cli.search_progress import Bar
from kernel.cli.search_waiting import wait_for_vectors, wait_for_words
from kernel.domain.cancel import CancelToken
from kernel.search.query import understood
from kernel.search.ranking import Ranked
from kernel.search.request import Request, asked
from kernel.search.retrieval import ranked_by_evidence, ranked_by_text
from kernel.search.selection import without_overlap

# Of each list; a file that is not among these is far from being found.
CANDIDATES = 1000
SHOWN_SIGNALS = 4


def place_among_answers(
    root: Path, folder: Path, settings_file: Path, query: str, path: str
) -> list[str]:
    """What there is to say of one file and one query, in sentences."""
    _, plan = settings_and_plan(settings_file)
    bar = Bar(sys.stderr)

    def wait(index: FolderIndex) -> None:
        index.start()
        wait_for_words(index, bar)
        wait_for_vectors(index, bar, patient=True)
        bar.clear()

    with up_to_date(root, folder, plan, shelf, wait) as index:
        return list(_findings(index.searchable(), asked(query), path))


def _findings(index: Searchable, request: Request, path: str) -> Iterator[str]:
    known = index.store.catalogue.file(path)
    if known is None:
        yield "it is not indexed, so it cannot be found"
        return
    chunks = index.store.catalogue.chunks_of(known.id)
    if not any(map(request.filters.accepts, chunks)):
        yield "the filters of the query turn it away"
        return
    lacking = sum(
        arm.lacks(chunk.key, chunk.input_length) for arm in index.arms for chunk in chunks
    )
    if lacking:
        yield f"{lacking} of its vectors are still to come"
    ranked = list(without_overlap(_ranked(index, request)))
    places = [place for place, each in enumerate(ranked) if each.chunk.path == path]
    if not places:
        yield f"it is not among the {len(ranked)} candidates: it shares too little with the query"
        return
    found = ranked[places[0]]
    lines = f"{found.chunk.chunk.begin_line + 1}-{found.chunk.chunk.end_line}"
    yield f"ranked {places[0] + 1} of {len(ranked)}, with lines {lines}: {_made_of(found)}"
    if places[0]:
        yield f"the first is {ranked[0].chunk.path}: {_made_of(ranked[0])}"


def _ranked(index: Searchable, request: Request) -> list[Ranked]:
    if request.is_literal:
        return ranked_by_text(index, request, CANDIDATES, CancelToken())[0]
    words = request.words.strip() or request.filters.as_words
    return ranked_by_evidence(index, understood(words), request.filters, CANDIDATES)


def _made_of(ranked: Ranked) -> str:
    """The largest parts of a score."""
    parts = sorted(ranked.signals.items(), key=lambda part: -abs(part[1]))[:SHOWN_SIGNALS]
    return f"{ranked.score:.2f} = " + ", ".join(f"{name} {value:+.2f}" for name, value in parts)
