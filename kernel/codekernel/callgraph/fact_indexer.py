"""Bring calls.db up to date with the catalog.

Few stale files in this process, many in worker processes (`python -m
codekernel.callgraph.fact_indexer`). A file that crashes two workers is quarantined with empty
facts.
"""

import logging
import os
import sys
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path

from codekernel.callgraph.fact_extractor import detect_header_language, extract_facts
from codekernel.callgraph.languages import LANGUAGES
from codekernel.domain.call_graph import CallFacts
from codekernel.domain.child_process import open_reply_stream, start_python_child
from codekernel.domain.concurrency import CancelToken
from codekernel.storage.catalog.call_database import CALLS_FILE
from codekernel.storage.catalog.call_store import CallReader, CallWriter, StaleFile
from codekernel.storage.catalog.catalog import Catalog
from codekernel.storage.index_store import CATALOG_FILE

logger = logging.getLogger(__name__)

INDEXED_LANGUAGES = tuple(LANGUAGES)

# A batch ends when it holds so much text or has taken so long; only committed facts can be queried.
MAX_BATCH_BYTES = 24_000_000

MAX_BATCH_SECONDS = 8.0

POLL_INTERVAL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class FactIndexerLimits:
    """When and how worker processes are used."""

    # Read while the question waits: a tenth of a second; a process takes longer to start.
    max_inline_bytes: int = 400_000
    max_processes: int = 4
    worker_module: str = "codekernel.callgraph.fact_indexer"


DEFAULT_LIMITS = FactIndexerLimits()


class FactIndexerProcess:
    """A worker that indexes every ``count``-th stale file and exits, or exits with its stdin."""

    def __init__(
        self, folder: Path, part: int, count: int, module: str = DEFAULT_LIMITS.worker_module
    ) -> None:
        """Start it; raises OSError."""
        self._process = start_python_child(module, str(folder), str(part), str(count))
        self._current_file_id: int | None = None
        self.started_count = 0
        self._reader_thread = threading.Thread(
            target=self._read_progress, name="fact-indexer", daemon=True
        )
        self._reader_thread.start()

    @property
    def is_alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    @property
    def has_failed_to_start(self) -> bool:
        """Whether it exited with an error before its first file; asked after kill()."""
        return self._process.returncode > 0 and self.started_count == 0

    @property
    def crashed_file_id(self) -> int | None:
        """The file it crashed on, if any; asked after kill()."""
        return self._current_file_id if self._process.returncode else None

    def kill(self) -> None:
        """End it and release its pipes; committed facts stay."""
        self._process.kill()
        self._process.wait()
        if self._process.stdin:
            self._process.stdin.close()
        self._reader_thread.join()

    def _read_progress(self) -> None:
        with self._process.stdout or sys.stdin.buffer as progress:
            for line in progress:
                self._current_file_id = int(line)
                self.started_count += 1


class FactIndexer:
    """Keeps the facts of one index up to date; used by one thread at a time."""

    def __init__(
        self, folder: Path, catalog: Catalog, reader: CallReader, limits: FactIndexerLimits
    ) -> None:
        self._folder = folder
        self._catalog = catalog
        self._limits = limits
        self._reader = reader
        self._writer = CallWriter(folder / CALLS_FILE)
        self._indexed_version: int | None = None
        # All files are compared once, for another process may have written; then only those that
        # the catalog lists as changed.
        self._last_change: int | None = None
        self._processes: list[FactIndexerProcess] = []
        self._crashed_digests: set[bytes] = set()
        self._is_inline_only = False

    def refresh(self, cancel: CancelToken, seconds: float) -> int:
        """Index the changed files; return how many are still stale when the time is over."""
        written = self._reader.read_version()[1]
        if written == self._indexed_version:
            return 0
        deadline = time.monotonic() + seconds
        change = self._reader.read_latest_change()
        if gone := self._reader.list_deleted_files(self._last_change):
            self._writer.delete_facts(gone)
        stale = self._reader.list_stale_files(INDEXED_LANGUAGES, self._last_change)
        is_small = sum(file.size for file in stale) <= self._limits.max_inline_bytes
        if stale and not self._processes and is_small:
            self._writer.replace_facts([extract_file_facts(file, self._catalog) for file in stale])
            stale = []
        while stale and not cancel.is_cancelled and time.monotonic() < deadline:
            if self._is_inline_only:
                self._index_inline(stale, cancel, deadline)
            else:
                self._index_in_processes(stale, cancel, deadline)
            stale = self._reader.list_stale_files(INDEXED_LANGUAGES, self._last_change)
        if not stale:
            self._indexed_version, self._last_change = written, change
        return len(stale)

    def close(self) -> None:
        """End the processes and close the connection."""
        for process in self._processes:
            process.kill()
        self._writer.close()

    def _index_in_processes(
        self, stale: list[StaleFile], cancel: CancelToken, deadline: float
    ) -> None:
        """Start workers and watch them until all have exited or the time is over."""
        if not self._processes and not self._start_processes():
            return
        while self._processes and not cancel.is_cancelled and time.monotonic() < deadline:
            for process in [one for one in self._processes if not one.is_alive]:
                self._processes.remove(process)
                process.kill()
                self._is_inline_only |= process.has_failed_to_start
                self._quarantine_crashing_file(process.crashed_file_id, stale)
            cancel.wait(POLL_INTERVAL_SECONDS)

    def _start_processes(self) -> bool:
        count = max(1, min(self._limits.max_processes, os.cpu_count() or 1))
        module = self._limits.worker_module
        try:
            for part in range(count):
                self._processes.append(FactIndexerProcess(self._folder, part, count, module))
        except OSError as error:
            logger.warning("call facts are extracted in this process, no worker starts: %s", error)
            self._is_inline_only = True
        return bool(self._processes)

    def _index_inline(self, stale: list[StaleFile], cancel: CancelToken, deadline: float) -> None:
        """Index as many files as there is time for."""
        batch: list[tuple[StaleFile, CallFacts]] = []
        for file in stale:
            if cancel.is_cancelled or time.monotonic() >= deadline:
                break
            batch.append(extract_file_facts(file, self._catalog))
        self._writer.replace_facts(batch)

    def _quarantine_crashing_file(self, file_id: int | None, stale: list[StaleFile]) -> None:
        """Store empty facts for a file on which a second worker crashed.

        The first crash may have another cause: a signal, or a full disk.
        """
        found = next((file for file in stale if file.id == file_id), None)
        if found and found.digest in self._crashed_digests:
            logger.warning(
                "the parser crashes on a file in %s; it gets no call facts", found.language
            )
            self._writer.replace_facts([(found, CallFacts())])
        elif found:
            self._crashed_digests.add(found.digest)


def extract_file_facts(file: StaleFile, catalog: Catalog) -> tuple[StaleFile, CallFacts]:
    """Return the facts of a file from its text in the catalog, with its detected language."""
    text = catalog.read_document(file.id)
    language = detect_header_language(text, file.language)
    return replace(file, language=language), extract_facts(text, language)


# Below searches.
NICENESS = 5


def run_worker(folder: Path, part: int, count: int) -> None:
    """Index the stale files of this part."""
    threading.Thread(target=_exit_on_stdin_eof, daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    progress = open_reply_stream(0)
    writer = CallWriter(folder / CALLS_FILE)
    catalog = Catalog(folder / CATALOG_FILE)
    reader = CallReader(folder / CALLS_FILE, folder / CATALOG_FILE)
    stale = [file for file in reader.list_stale_files(INDEXED_LANGUAGES) if file.id % count == part]
    reader.close()
    batch: list[tuple[StaleFile, CallFacts]] = []
    size, begun = 0, time.monotonic()
    for file in stale:
        progress.write(b"%d\n" % file.id)
        batch.append(extract_file_facts(file, catalog))
        size += file.size
        if size >= MAX_BATCH_BYTES or time.monotonic() - begun > MAX_BATCH_SECONDS:
            writer.replace_facts(batch)
            batch, size, begun = [], 0, time.monotonic()
    writer.replace_facts(batch)
    writer.checkpoint()
    writer.close()


def _exit_on_stdin_eof() -> None:
    # Not through sys.stdin: its lock would block the exit of the interpreter.
    while os.read(0, 1):
        continue
    os._exit(1)  # the parent is gone


if __name__ == "__main__":
    run_worker(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
