"""Search a folder in the shared kernel: a terminal search without an index of its own.

Imports little: beside a running kernel a search has a tenth of a second for everything.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from codekernel.cli.output.progress_bar import IndexingProgress, ProgressBar, format_duration
from codekernel.client.connection import KernelConnection

_SESSION_ID = 1

POLL_INTERVAL_SECONDS = 0.05

# Vectors make a better answer (NDCG@10 .890, lexical alone .882), which is worth this much.
VECTORS_TIMEOUT_SECONDS = 3.0

# Opening models and vectors ends for certain, so it is waited for: otherwise the same search would
# answer differently by chance.
OPENING_TIMEOUT_SECONDS = 20.0

_BUSY_STATES = {"starting", "recovering", "indexing"}

Status = dict[str, Any]


@dataclass(frozen=True, slots=True)
class KernelAnswer:
    """The results of a search as in the protocol, and sentences on what it had to do without."""

    results: list[dict[str, Any]]
    notices: list[str]


def search_in_kernel(
    user_data: Path, folder: Path, fields: dict[str, Any], bar: ProgressBar, *, until_complete: bool
) -> KernelAnswer:
    """Search a folder, which is registered and indexed if it is new.

    ``fields`` are those of the message ``search``. Raises KernelUnavailable, RefusedByKernel.
    """
    with KernelConnection.open(user_data, "search") as kernel:
        # Sent together: beside a complete index all three are answered at once.
        place = {"path": str(folder), "sessionId": _SESSION_ID, "keep": False}
        opening = kernel.post("openFolder", place)
        asking = kernel.post("getIndexStatus", {}, _SESSION_ID)
        searching = kernel.post("search", fields, _SESSION_ID)
        kernel.wait_for_reply(opening)
        status = kernel.wait_for_reply(asking)
        wants_vectors = fields.get("semantic", True)
        if not is_complete(status, wants_vectors):
            kernel.wait_for_reply(searching)
            status = _wait_until_complete(
                lambda: kernel.request("getIndexStatus", session_id=_SESSION_ID),
                bar,
                wants_vectors=wants_vectors,
                until_complete=until_complete,
            )
            searching = kernel.post("search", fields, _SESSION_ID)
        found = kernel.wait_for_reply(searching)
    return KernelAnswer(found["results"], describe_gaps(status, wants_vectors))


def is_complete(status: Status, wants_vectors: bool) -> bool:  # noqa: FBT001 - both are facts
    """Return whether every file is indexed, also by meaning if that is wanted."""
    if status["state"] in _BUSY_STATES:
        return False
    return not wants_vectors or all(_is_config_done(config) for config in status["configs"])


def describe_gaps(status: Status, wants_vectors: bool) -> list[str]:  # noqa: FBT001
    """Return sentences on what a search had to do without."""
    messages = [status["trouble"]] if status["trouble"] else []
    if not wants_vectors:
        return messages
    messages += [
        f"embedding config {config['name']} is not used: {config['trouble']}"
        for config in status["configs"]
        if config["trouble"]
    ]
    late = [config for config in status["configs"] if not _is_config_done(config)]
    if late and not messages:
        known = [config["secondsLeft"] for config in late if config["secondsLeft"]]
        left = f", {format_duration(sum(known))} left" if len(known) == len(late) else ""
        names = " and ".join(config["name"] for config in late)
        messages.append(f"meaning is still being indexed ({names}{left}); --wait waits for it")
    return messages


def _wait_until_complete(
    get_status: Callable[[], Status],
    bar: ProgressBar,
    *,
    wants_vectors: bool,
    until_complete: bool,
) -> Status:
    began, opened_at = time.monotonic(), None
    while True:
        status = get_status()
        if is_complete(status, wants_vectors):
            return status
        bar.show(_read_progress(status))
        is_lexical = status["state"] in _BUSY_STATES
        if not is_lexical and not until_complete:
            now = time.monotonic()
            is_open = all(each["ready"] or each["trouble"] for each in status["configs"])
            opened_at = opened_at or (now if is_open else None)
            if _is_too_long(status, now - began, opened_at and now - opened_at):
                return status
        time.sleep(POLL_INTERVAL_SECONDS)


def _is_too_long(status: Status, waited: float, since_opened: float | None) -> bool:
    if since_opened is None:
        return waited > OPENING_TIMEOUT_SECONDS
    left = VECTORS_TIMEOUT_SECONDS - since_opened
    known = sum(config["secondsLeft"] or 0.0 for config in status["configs"])
    return left <= 0 or known > left


def _is_config_done(config: dict[str, Any]) -> bool:
    return bool(config["trouble"]) or (config["ready"] and not config["waiting"])


def _read_progress(status: Status) -> IndexingProgress:
    waiting, files = status["filesWaiting"], status["files"]
    total = files + waiting
    return IndexingProgress(files, total, status["chunks"], files / total if total else 0.0)
