"""A folder that is open in the kernel for one command: its index, and a search in it.

Imports little: beside a running kernel a search has a tenth of a second for everything.
"""

import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from codekernel.cli.output.progress_bar import IndexingProgress, ProgressBar, format_duration
from codekernel.client.connection import KernelConnection

SESSION_ID = 1

POLL_INTERVAL_SECONDS = 0.05

# Vectors make a better answer (NDCG@10 .890, lexical alone .882), which is worth this much.
VECTORS_TIMEOUT_SECONDS = 3.0

# Opening models and vectors ends for certain, so it is waited for: otherwise the same search would
# answer differently by chance.
OPENING_TIMEOUT_SECONDS = 20.0

_BUSY_STATES = {"starting", "recovering", "indexing"}

# Of an index that another process writes; a shared kernel has none.
READ_ONLY_STATE = "read-only"

Status = dict[str, Any]


@dataclass(frozen=True, slots=True)
class FolderSession:
    """A session of a command, which has one for each folder that it opens."""

    kernel: KernelConnection
    session_id: int = SESSION_ID
    # What there is to say of an index that was made while this command waited for it.
    notices: list[str] = field(default_factory=list)

    def open(self, folder: Path) -> int:
        """Open a folder, which is registered if it is new; return the callbackId.

        The kernel keeps what follows until it is open.
        """
        place = {"path": str(folder), "sessionId": self.session_id, "keep": False}
        return self.kernel.post("openFolder", place)

    def post(self, message_type: str, **fields: Any) -> int:
        """Send a request to the session; return its callbackId."""
        return self.kernel.post(message_type, fields, self.session_id)

    def request(self, message_type: str, **fields: Any) -> Any:
        """Return the data of the reply to a request. Raises RefusedByKernel."""
        return self.kernel.request(message_type, fields, self.session_id)

    def search(
        self, folder: Path, fields: dict[str, Any], *, until_complete: bool
    ) -> tuple[list[dict[str, Any]], list[str]]:
        """Search a folder; return the results, and sentences on what it had to do without.

        ``fields`` are those of the message ``search``. Raises KernelUnavailable, RefusedByKernel.
        """
        # Sent together: beside a complete index all of it is answered at once.
        replaced_count = self.kernel.replaced_count
        configuring = self.kernel.post("getSettings", {})
        opening = self.open(folder)
        asked = self.post("getIndexStatus"), self.post("search", **fields)
        self.kernel.wait_for_reply(opening)
        status, found = self._wait_for_results(*asked, fields, until_complete=until_complete)
        # One kernel may have said that it is complete, and another one searched without vectors.
        while self.kernel.replaced_count != replaced_count:
            replaced_count = self.kernel.replaced_count
            asked = self.post("getIndexStatus"), self.post("search", **fields)
            status, found = self._wait_for_results(*asked, fields, until_complete=until_complete)
        trouble = self.kernel.wait_for_reply(configuring)["trouble"]
        gaps = [trouble] if trouble else []
        if fields["accuracy"]:
            gaps += self._describe_reranker()
        gaps += describe_gaps(status, wants_vectors=fields.get("semantic", True))
        gaps += filter(None, [found.get("gap")])
        return found["results"], [*gaps, *self.notices]

    def _wait_for_results(
        self, asking: int, searching: int, fields: dict[str, Any], *, until_complete: bool
    ) -> tuple[Status, Any]:
        """Return the index's status and the reply to a search that has seen all of it."""
        status = self.kernel.wait_for_reply(asking)
        wants_vectors = fields.get("semantic", True)
        if not is_complete(status, wants_vectors=wants_vectors):
            self.kernel.wait_for_reply(searching)
            status = self.wait_for_index(wants_vectors=wants_vectors, until_complete=until_complete)
            # A kernel of an earlier version has none.
            self.notices[:] = filter(None, [status.get("notice")])
            searching = self.post("search", **fields)
        return status, self.kernel.wait_for_reply(searching)

    def find_reranker(self) -> tuple[bool, str]:
        """Return whether a reranker is selected, and why it cannot be used."""
        settings = self.kernel.request("getSettings")["settings"]["searchSettings"]
        models = {each["name"]: each for each in self.kernel.request("getModels")["models"]}
        configs = settings["rerankConfig"]["configs"]
        selected = [each["modelName"] for each in configs if each["selected"]]
        found = [models[name]["trouble"] for name in selected if name in models]
        return bool(found), found[0] if found else ""

    def _describe_reranker(self) -> Iterator[str]:
        """Yield a sentence if no reranker can be used."""
        is_selected, trouble = self.find_reranker()
        if trouble:
            yield f"the selected reranker is not used: {trouble}"
        elif not is_selected:
            yield "no reranker is selected in the settings; --accuracy changes nothing"

    def wait_for_index(self, *, wants_vectors: bool = True, until_complete: bool) -> Status:
        """Wait until the index is complete, or would take too long; return its status."""
        bar = ProgressBar(sys.stderr)
        began, opened_at = time.monotonic(), None
        try:
            while True:
                status: Status = self.request("getIndexStatus")
                if is_complete(status, wants_vectors=wants_vectors):
                    return status
                if (notice := status.get("notice")) and not status["files"]:
                    bar.draw(notice)
                bar.show(_read_progress(status))
                is_lexical = status["state"] in _BUSY_STATES
                if not is_lexical and not until_complete:
                    now = time.monotonic()
                    is_open = all(each["ready"] or each["trouble"] for each in status["configs"])
                    opened_at = opened_at or (now if is_open else None)
                    if _is_too_long(status, now - began, opened_at and now - opened_at):
                        return status
                time.sleep(POLL_INTERVAL_SECONDS)
        finally:
            bar.clear()


_id_lock = threading.Lock()
_last_id = 0


def make_conversation_id() -> int:
    """Return an unused number; two of one millisecond are one apart."""
    global _last_id  # noqa: PLW0603 - the one thing that all turns of a process share
    with _id_lock:
        _last_id = max(_last_id + 1, time.time_ns() // 1_000_000)
        return _last_id


def is_complete(status: Status, *, wants_vectors: bool) -> bool:
    """Return whether every file is indexed, also by meaning if that is wanted.

    An index that another codekernel keeps has no vectors here, however long one waits.
    """
    if status["state"] == READ_ONLY_STATE:
        return True
    if status["state"] in _BUSY_STATES:
        return False
    return not wants_vectors or all(_is_config_done(config) for config in status["configs"])


def describe_gaps(status: Status, *, wants_vectors: bool) -> list[str]:
    """Return sentences on what a search had to do without."""
    if status["state"] == READ_ONLY_STATE:
        return ["another codekernel keeps this index, so it is searched by words and as it is"]
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
