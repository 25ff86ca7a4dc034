"""Brings the facts in line with the catalogue: a few files here, many in processes of their own."""

import logging
import os
import time
from dataclasses import replace
from pathlib import Path

from kernel.callgraph.extracting import facts_of, spoken
from kernel.callgraph.filling_process import FillingProcess
from kernel.callgraph.speeches import SPEECHES
from kernel.domain.call_facts import CallFacts
from kernel.domain.cancel import CancelToken
from kernel.storage.call_reader import CallReader
from kernel.storage.call_schema import CALLS_FILE
from kernel.storage.call_writer import CallWriter, StaleFile
from kernel.storage.catalogue import Catalogue

logger = logging.getLogger(__name__)

LANGUAGES = tuple(SPEECHES)
# So much is read while the question waits: a tenth of a second; a process takes longer to start.
HERE_BYTES = 400_000
MOST_PROCESSES = 4
# A batch ends when it holds so much text, or has taken so long: what is read can be asked soon.
BATCH_BYTES = 24_000_000
BATCH_SECONDS = 8.0
LOOK_SECONDS = 0.05


class Filling:
    """One index's facts; used by one thread at a time."""

    def __init__(self, folder: Path, catalogue: Catalogue, reader: CallReader) -> None:
        self._folder = folder
        self._catalogue = catalogue
        self._reader = reader
        self._writer = CallWriter(folder / CALLS_FILE)
        self._agreed: int | None = None
        # Everything is compared once, for who knows what was written while nobody looked; then
        # only what the catalogue says has changed.
        self._seen: int | None = None
        self._processes: list[FillingProcess] = []
        self._suspects: set[bytes] = set()
        self._alone = False

    def catch_up(self, cancel: CancelToken, seconds: float) -> int:
        """Read what has changed; how many files are still behind when the time is over."""
        written = self._reader.version()[1]
        if written == self._agreed:
            return 0
        deadline = time.monotonic() + seconds
        change = self._reader.latest_change()
        if gone := self._reader.gone(self._seen):
            self._writer.forget(gone)
        stale = self._reader.stale(LANGUAGES, self._seen)
        if stale and not self._processes and sum(file.size for file in stale) <= HERE_BYTES:
            self._writer.replace([read(file, self._catalogue) for file in stale])
            stale = []
        while stale and not cancel.cancelled and time.monotonic() < deadline:
            if self._alone:
                self._read_some_here(stale, cancel, deadline)
            else:
                self._with_processes(stale, cancel, deadline)
            stale = self._reader.stale(LANGUAGES, self._seen)
        if not stale:
            self._agreed, self._seen = written, change
        return len(stale)

    def behind(self) -> int:
        """How many files have changed since they were read."""
        return len(self._reader.stale(LANGUAGES))

    def close(self) -> None:
        """End the processes and close the connection."""
        for process in self._processes:
            process.kill()
        self._writer.close()

    def _with_processes(self, stale: list[StaleFile], cancel: CancelToken, deadline: float) -> None:
        """Let processes read, and look after them until all have ended or the time is over."""
        if not self._processes and not self._start():
            return
        while self._processes and not cancel.cancelled and time.monotonic() < deadline:
            for process in [one for one in self._processes if not one.alive]:
                self._processes.remove(process)
                process.kill()
                self._alone |= process.failed_to_begin
                self._give_up(process.suspect, stale)
            cancel.wait(LOOK_SECONDS)

    def _start(self) -> bool:
        count = max(1, min(MOST_PROCESSES, os.cpu_count() or 1))
        try:
            for part in range(count):
                self._processes.append(FillingProcess(self._folder, part, count))
        except OSError as error:
            logger.warning("calls are read in this process, no other can be started: %s", error)
            self._alone = True
        return bool(self._processes)

    def _read_some_here(self, stale: list[StaleFile], cancel: CancelToken, deadline: float) -> None:
        """Read as much as there is time for."""
        batch: list[tuple[StaleFile, CallFacts]] = []
        for file in stale:
            if cancel.cancelled or time.monotonic() >= deadline:
                break
            batch.append(read(file, self._catalogue))
        self._writer.replace(batch)

    def _give_up(self, suspect: int | None, stale: list[StaleFile]) -> None:
        """A file on which two processes died has no calls that anybody could tell.

        Of one that died once, the cause may be another: that it was killed, or a full disk.
        """
        found = next((file for file in stale if file.id == suspect), None)
        if found and found.digest in self._suspects:
            logger.warning("the calls of a file in %s cannot be read", found.language)
            self._writer.replace([(found, CallFacts())])
        elif found:
            self._suspects.add(found.digest)


def read(file: StaleFile, catalogue: Catalogue) -> tuple[StaleFile, CallFacts]:
    """The facts of a file, from its text in the catalogue, and the language it is really in."""
    text = catalogue.document(file.id)
    language = spoken(text, file.language)
    return replace(file, language=language), facts_of(text, language)
