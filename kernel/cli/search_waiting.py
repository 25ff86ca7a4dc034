"""For how long a search waits for the index: for words always, for vectors if it pays."""

import time
from collections.abc import Callable

from kernel.cli.search_index import FolderIndex
from kernel.cli.search_progress import Bar, duration
from kernel.domain.index_status import ConfigStatus

# How often the bar is redrawn; also how soon Ctrl-C is noticed where waiting cannot be interrupted.
TICK_SECONDS = 0.05
# Vectors make a better answer (NDCG@10 .890, by words alone .882), which is worth this much.
VECTORS_WORTH_SECONDS = 3.0
# Loading LanceDB takes 2 s of CPU and a model half a second, more beside a busy machine. It ends
# for certain, so it is waited for: otherwise the same search would answer differently by luck.
OPENING_SECONDS = 20.0


def wait_for_words(index: FolderIndex, bar: Bar) -> None:
    """Until every word can be found; raises what keeps them from being indexed."""
    while not index.words_done(TICK_SECONDS):
        bar.show(index.reached)


def wait_for_vectors(
    index: FolderIndex, bar: Bar, *, patient: bool, clock: Callable[[], float] = time.monotonic
) -> None:
    """Until the vectors are complete, or would take too long; ``patient`` waits to the end."""
    began = clock()
    opened: float | None = None
    while not index.vectors_done:
        statuses = index.statuses()
        if index.embedding.trouble:
            return
        if opened is None and all(status.ready or status.trouble for status in statuses):
            opened = clock()
        if not patient and _is_too_long(statuses, clock() - began, opened and clock() - opened):
            return
        bar.show(index.reached)
        time.sleep(TICK_SECONDS)


def what_is_missing(index: FolderIndex) -> list[str]:
    """Sentences on what of the meaning this search could not use."""
    if index.read_only:
        return ["another codekernel keeps this index, so it is searched by words and as it is"]
    said = [index.embedding.trouble] if index.embedding.trouble else []
    statuses = index.statuses()
    said += [
        f"embedding config {status.name} is not used: {status.trouble}"
        for status in statuses
        if status.trouble
    ]
    late = [
        status for status in statuses if (status.waiting or not status.ready) and not status.trouble
    ]
    if late and not said and not index.vectors_done:
        known = [status.seconds_left for status in late if status.seconds_left]
        left = f", {duration(sum(known))} left" if len(known) == len(late) else ""
        names = " and ".join(status.name for status in late)
        said.append(
            f"meaning is still being indexed ({names}{left}); each search goes on with it for a"
            " moment, and --wait waits for all of it"
        )
    return said


def _is_too_long(
    statuses: tuple[ConfigStatus, ...], waited: float, since_opened: float | None
) -> bool:
    if since_opened is None:
        return waited > OPENING_SECONDS
    left = VECTORS_WORTH_SECONDS - since_opened
    known = sum(status.seconds_left or 0.0 for status in statuses)
    return left <= 0 or known > left
