"""Bring calls.db up to date with the catalog.

Few stale files in this process, many in worker processes (`python -m
codekernel.callgraph.fact_indexer`). A file that crashes two workers is quarantined with empty
facts.
"""

import logging
import os
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

from codekernel.callgraph.fact_extractor import detect_header_language, extract_facts
from codekernel.callgraph.languages import LANGUAGES
from codekernel.domain.call_graph import CallFacts
from codekernel.domain.child_process import CHILD_PROCESS_OPTIONS
from codekernel.domain.concurrency import CancelToken
from codekernel.storage.catalog.call_database import CALLS_FILE
from codekernel.storage.catalog.call_store import CallReader, CallWriter, StaleFile
from codekernel.storage.catalog.catalog import Catalog
from codekernel.storage.index_store import CATALOG_FILE

# What lies in the folder somebody asks about is never imported.
_SAFE_PATH_FLAG = "-I" if sys.flags.isolated else "-P"

_CHILD_MODULE = "codekernel.callgraph.fact_indexer"


class FactIndexerProcess:
    """Reads every ``count``-th file of an index, and ends; or when its stdin does."""

    def __init__(self, folder: Path, part: int, count: int) -> None:
        """Start it; raises OSError if the system has no process to give."""
        self._process = subprocess.Popen(  # noqa: S603 - our own program
            [
                sys.executable,
                _SAFE_PATH_FLAG,
                "-m",
                _CHILD_MODULE,
                str(folder),
                str(part),
                str(count),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            **CHILD_PROCESS_OPTIONS,
        )
        self._current_file_id: int | None = None
        self._started_count = 0
        self._is_closed = False
        self._changed = threading.Condition()
        self._reader_thread = threading.Thread(
            target=self._read_progress, name="filling", daemon=True
        )
        self._reader_thread.start()

    @property
    def pid(self) -> int:
        """The system's number of it."""
        return self._process.pid

    def wait_until_started(self, files: int) -> bool:
        """Wait until it has begun so many files; false if it ends first."""
        with self._changed:
            return self._changed.wait_for(
                lambda: self._started_count >= files or self._is_closed
            ) and (self._started_count >= files)

    @property
    def is_alive(self) -> bool:
        """Whether it still reads."""
        return self._process.poll() is None

    @property
    def has_failed_to_start(self) -> bool:
        """Whether it ended by itself before it read anything; asked once it has ended."""
        self._reader_thread.join()
        return self._process.returncode > 0 and self._started_count == 0

    @property
    def crashed_file_id(self) -> int | None:
        """The file it died on, if it did; asked once it has ended."""
        if self._process.returncode == 0:
            return None
        self._reader_thread.join()
        return self._current_file_id

    def kill(self) -> None:
        """End it, whatever it is doing, and let go of it; what it has committed stays."""
        self._process.kill()
        self._process.wait()
        if self._process.stdin:
            self._process.stdin.close()
        self._reader_thread.join()

    def _read_progress(self) -> None:
        with self._process.stdout or sys.stdin.buffer as said:
            for line in said:
                with self._changed:
                    self._current_file_id = int(line)
                    self._started_count += 1
                    self._changed.notify_all()
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()


logger = logging.getLogger(__name__)

INDEXED_LANGUAGES = tuple(LANGUAGES)

# So much is read while the question waits: a tenth of a second; a process takes longer to start.
MAX_INLINE_BYTES = 400_000

MAX_PROCESSES = 4

# A batch ends when it holds so much text, or has taken so long: what is read can be asked soon.
MAX_BATCH_BYTES = 24_000_000

MAX_BATCH_SECONDS = 8.0

POLL_INTERVAL_SECONDS = 0.05


class FactIndexer:
    """One index's facts; used by one thread at a time."""

    def __init__(self, folder: Path, catalogue: Catalog, reader: CallReader) -> None:
        self._folder = folder
        self._catalogue = catalogue
        self._reader = reader
        self._writer = CallWriter(folder / CALLS_FILE)
        self._indexed_version: int | None = None
        # Everything is compared once, for who knows what was written while nobody looked; then
        # only what the catalogue says has changed.
        self._last_change: int | None = None
        self._processes: list[FactIndexerProcess] = []
        self._crashed_digests: set[bytes] = set()
        self._is_inline_only = False

    def refresh(self, cancel: CancelToken, seconds: float) -> int:
        """Read what has changed; how many files are still behind when the time is over."""
        written = self._reader.read_version()[1]
        if written == self._indexed_version:
            return 0
        deadline = time.monotonic() + seconds
        change = self._reader.read_latest_change()
        if gone := self._reader.list_deleted_files(self._last_change):
            self._writer.delete_facts(gone)
        stale = self._reader.list_stale_files(INDEXED_LANGUAGES, self._last_change)
        if stale and not self._processes and sum(file.size for file in stale) <= MAX_INLINE_BYTES:
            self._writer.replace_facts(
                [extract_file_facts(file, self._catalogue) for file in stale]
            )
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

    def count_stale_files(self) -> int:
        """How many files have changed since they were read."""
        return len(self._reader.list_stale_files(INDEXED_LANGUAGES))

    def close(self) -> None:
        """End the processes and close the connection."""
        for process in self._processes:
            process.kill()
        self._writer.close()

    def _index_in_processes(
        self, stale: list[StaleFile], cancel: CancelToken, deadline: float
    ) -> None:
        """Let processes read, and look after them until all have ended or the time is over."""
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
        count = max(1, min(MAX_PROCESSES, os.cpu_count() or 1))
        try:
            for part in range(count):
                self._processes.append(FactIndexerProcess(self._folder, part, count))
        except OSError as error:
            logger.warning("calls are read in this process, no other can be started: %s", error)
            self._is_inline_only = True
        return bool(self._processes)

    def _index_inline(self, stale: list[StaleFile], cancel: CancelToken, deadline: float) -> None:
        """Read as much as there is time for."""
        batch: list[tuple[StaleFile, CallFacts]] = []
        for file in stale:
            if cancel.is_cancelled or time.monotonic() >= deadline:
                break
            batch.append(extract_file_facts(file, self._catalogue))
        self._writer.replace_facts(batch)

    def _quarantine_crashing_file(self, file_id: int | None, stale: list[StaleFile]) -> None:
        """A file on which two processes died has no calls that anybody could tell.

        Of one that died once, the cause may be another: that it was killed, or a full disk.
        """
        found = next((file for file in stale if file.id == file_id), None)
        if found and found.digest in self._crashed_digests:
            logger.warning("the calls of a file in %s cannot be read", found.language)
            self._writer.replace_facts([(found, CallFacts())])
        elif found:
            self._crashed_digests.add(found.digest)


def extract_file_facts(file: StaleFile, catalogue: Catalog) -> tuple[StaleFile, CallFacts]:
    """The facts of a file, from its text in the catalogue, and the language it is really in."""
    text = catalogue.read_document(file.id)
    language = detect_header_language(text, file.language)
    return replace(file, language=language), extract_facts(text, language)


# Searches go first.
NICENESS = 5


def run_worker(folder: Path, part: int, count: int) -> None:
    """Read until nothing of this part is stale."""
    threading.Thread(target=_exit_on_stdin_eof, daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    said = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # a stray print must not end up among the numbers
    writer = CallWriter(folder / CALLS_FILE)
    catalogue = Catalog(folder / CATALOG_FILE)
    reader = CallReader(folder / CALLS_FILE, folder / CATALOG_FILE)
    stale = [file for file in reader.list_stale_files(INDEXED_LANGUAGES) if file.id % count == part]
    reader.close()
    batch: list[tuple[StaleFile, CallFacts]] = []
    size, begun = 0, time.monotonic()
    for file in stale:
        said.write(b"%d\n" % file.id)
        batch.append(extract_file_facts(file, catalogue))
        size += file.size
        if size >= MAX_BATCH_BYTES or time.monotonic() - begun > MAX_BATCH_SECONDS:
            writer.replace_facts(batch)
            batch, size, begun = [], 0, time.monotonic()
    writer.replace_facts(batch)
    writer.checkpoint()
    writer.close()


def _exit_on_stdin_eof() -> None:
    # Not through Python's buffer: whoever waits in there cannot be left at the end.
    while os.read(0, 1):
        continue
    os._exit(1)  # nobody is left to read for


if __name__ == "__main__":
    run_worker(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
