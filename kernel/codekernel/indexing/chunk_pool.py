"""Read changed files and chunk them, in child processes ahead of the writer, in order.

A file on which a process dies is retried in a new one, then chunked by lines.
"""

import atexit
import logging
import os
import pickle
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from codekernel.chunking.chunker import ChunksBySize, chunk_with_hashes
from codekernel.domain.child_process import start_python_child
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import (
    FileRecord,
    FoundFile,
    IndexedFile,
    SkippedFileRecord,
    SkippedPath,
    detect_language,
)
from codekernel.domain.settings import Performance
from codekernel.errors import Cancelled
from codekernel.files.reading import read_source_file
from codekernel.indexing.chunk_worker import ChunkReply, ChunkRequest, unpack_chunks
from codekernel.indexing.index_state import FileOutcome, TouchedFile

logger = logging.getLogger(__name__)

# So much is under way at once: enough that the process never waits for us, little enough that a
# search need not wait long for the processor, and that little is lost by a stop.
MAX_PENDING_CHARS = 200_000

# Behind a large file that is still being chunked, this many chunked ones may wait.
MAX_FILES_AHEAD = 64

# More would wait for the one thread that writes their chunks.
MAX_CHUNK_PROCESSES = 3

# As many characters as take 0.1 s to chunk: the first batch.
CHARS_BEFORE_START = 300_000

# How often a wait checks the cancel token.
CANCEL_CHECK_INTERVAL_SECONDS = 0.05

# No grammar has this name: the file is chunked by lines.
PLAIN_TEXT = "text"


# A change within one tick of the file system's clock leaves no trace in the date. Linux ticks every
# few milliseconds; FAT and some network drives write even seconds.
MTIME_TICK_NS = 20_000_000

COARSE_MTIME_TICK_NS = 2_000_000_000

_SECOND_NS = 1_000_000_000

# The hashes of the texts of a file's chunks, as they were indexed last.
ListKnownHashes = Callable[[str], frozenset[int]]


def list_no_hashes(_path: str) -> frozenset[int]:
    """Return none: every text is new."""
    return frozenset()


def read_changed_file(root: Path, found: FoundFile, known: FileRecord | None) -> FileOutcome:
    """Read a file; one with other content than the ``known`` is returned without chunks."""
    read_at_ns = time.time_ns()
    source = read_source_file(root, found)
    if isinstance(source, SkippedPath):
        return SkippedFileRecord(
            found.path, source.reason, source.detail, found.size, found.mtime_ns
        )
    tick = COARSE_MTIME_TICK_NS if source.mtime_ns % _SECOND_NS == 0 else MTIME_TICK_NS
    # -1: a later change could have the same time, so that no time is equal to it.
    mtime_ns = source.mtime_ns if source.mtime_ns + tick < read_at_ns else -1
    if known and known.digest == source.digest:
        return TouchedFile(found.path, source.size, mtime_ns)
    return IndexedFile(
        path=found.path,
        size=source.size,
        mtime_ns=mtime_ns,
        digest=source.digest,
        language=detect_language(found.path),
        encoding=source.encoding,
        text=source.text,
        chunks_by_size={},
    )


@dataclass(slots=True, eq=False)
class ChunkJob:
    """A file on its way through a process, or chunked here."""

    file: IndexedFile
    chunk_sizes: tuple[int, ...]
    chunks: ChunksBySize | None = None
    stems: dict[int, str] = field(default_factory=dict)

    def chunk_here(self, language: str) -> None:
        """Chunk the file in this process."""
        self.chunks = chunk_with_hashes(self.file.text, language, self.chunk_sizes)


class ChunkProcess:
    """Used by one thread at a time."""

    def __init__(self) -> None:
        """Start it; raises OSError if the system has no process to give."""
        self.process = start_python_child("codekernel.indexing.chunk_worker")
        self.ready = threading.Event()  # it has imported what it needs
        self.pending: deque[ChunkJob] = deque()
        self._pending_chars = 0
        self._replies: queue.SimpleQueue[ChunkReply | None] = queue.SimpleQueue()
        threading.Thread(target=self._read_replies, name="chunks", daemon=True).start()

    @property
    def has_room(self) -> bool:
        """Whether a job would begin soon."""
        return self.ready.is_set() and self._pending_chars < MAX_PENDING_CHARS

    def submit(self, job: ChunkJob, known_hashes: frozenset[int] = frozenset()) -> None:
        """Send a file to be chunked; if the process has ended, ``receive`` will say so."""
        self.pending.append(job)
        self._pending_chars += len(job.file.text)
        pipe = self.process.stdin
        request: ChunkRequest = (job.file.text, job.file.language, job.chunk_sizes, known_hashes)
        with suppress(OSError):
            if pipe:
                pickle.dump(request, pipe, pickle.HIGHEST_PROTOCOL)
                pipe.flush()

    def receive(self, timeout_seconds: float) -> bool:
        """Take the next reply, if there is one soon; false if the process has ended."""
        try:
            reply = self._replies.get(timeout=timeout_seconds)
        except queue.Empty:
            return True
        if reply is not None:  # in the order of the jobs
            job, (packed, job.stems) = self.pending.popleft(), reply
            self._pending_chars -= len(job.file.text)
            job.chunks = unpack_chunks(packed)
        return reply is not None

    def kill(self) -> None:
        """End it, whatever it is doing."""
        self.process.kill()
        for pipe in (self.process.stdin, self.process.stdout):
            with suppress(OSError):  # the last job could not be flushed
                if pipe:
                    pipe.close()
        self.process.wait()

    def _read_replies(self) -> None:
        pipe = self.process.stdout
        try:
            while pipe:
                reply = pickle.load(pipe)  # noqa: S301 - written by our own child
                if reply is None:
                    self.ready.set()
                else:
                    self._replies.put(reply)
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):
            self._replies.put(None)


def count_chunk_processes(performance: Performance) -> int:
    """Return half of the cores that may be used; the rest embeds and writes.

    0 on one core, where a second process would only wait for the first.
    """
    cores = performance.max_threads or os.cpu_count() or 1
    return min(MAX_CHUNK_PROCESSES, cores // 2)


@dataclass(frozen=True, slots=True)
class PoolLimits:
    """How many processes to use; unless ``can_start``, only those that are already running."""

    max_processes: int
    can_start: bool = True


class ChunkPool:
    """Some processes used by one thread; without any of them it chunks in its own process.

    New processes are started only after some files: their start would otherwise delay the first
    files that can be found.
    """

    def __init__(
        self,
        limits: PoolLimits,
        chunk_sizes: Sequence[int],
        list_known_hashes: ListKnownHashes = list_no_hashes,
    ) -> None:
        """``list_known_hashes``: of the chunks of a file whose words the index has already."""
        self._list_known_hashes = list_known_hashes
        self.processes = _take_idle_processes(limits.max_processes)
        self._max_processes = limits.max_processes if limits.can_start else 0
        self._chars_chunked_here = 0
        self._chunk_sizes = tuple(chunk_sizes)

    def submit(self, file: IndexedFile) -> ChunkJob:
        """Send a file to a process; it is chunked here if none has room for it now."""
        job = ChunkJob(file, self._chunk_sizes)
        free = [process for process in self.processes if process.has_room]
        if free:
            known = self._list_known_hashes(file.path)
            min(free, key=lambda process: len(process.pending)).submit(job, known)
            return job
        self._chars_chunked_here += len(file.text)
        if self._chars_chunked_here >= CHARS_BEFORE_START:
            self.start_processes()
        job.chunk_here(file.language)
        return job

    def start_processes(self) -> None:
        """Start the processes of the limit; once, because those that die are not replaced."""
        missing, self._max_processes = self._max_processes - len(self.processes), 0
        try:
            for _ in range(missing):
                self.processes.append(ChunkProcess())
        except OSError as error:
            logger.warning("no process to chunk files can be started: %s", error)

    def is_chunked(self, job: ChunkJob) -> bool:
        """Return whether a file need not be waited for."""
        if job.chunks is None:
            self._receive_reply(job, 0)
        return job.chunks is not None

    def wait_for_chunks(self, job: ChunkJob, cancel: CancelToken) -> IndexedFile:
        """Return a file with its chunks. Raises Cancelled."""
        while job.chunks is None:
            if cancel.is_cancelled:
                raise Cancelled("indexing was stopped")
            self._receive_reply(job, CANCEL_CHECK_INTERVAL_SECONDS)
        return replace(job.file, chunks_by_size=job.chunks, stems_by_key=job.stems)

    def _receive_reply(self, job: ChunkJob, timeout_seconds: float) -> None:
        """Take the next reply of the process that has this job; chunk here what none has."""
        for process in self.processes:
            if job in process.pending:
                if not process.receive(timeout_seconds):
                    self._remove_process(process)
                return
        job.chunk_here(job.file.language)

    def _remove_process(self, process: ChunkProcess) -> None:
        """Continue without a process; the file it died on is not tried in this one."""
        self.processes.remove(process)
        process.kill()
        if process.pending:
            _retry_chunking(process.pending[0])


def _retry_chunking(job: ChunkJob) -> None:
    """Chunk a file on which a process died: in a new one, and if that dies too, by lines."""
    logger.warning("a process that chunked %s characters ended; trying again", len(job.file.text))
    with suppress(OSError):
        process = ChunkProcess()
        process.submit(job)
        while job.chunks is None and process.receive(CANCEL_CHECK_INTERVAL_SECONDS):
            continue
        process.kill()
    if job.chunks is None:
        logger.warning("the parser fails on a file in %s; chunked by lines", job.file.language)
        job.chunk_here(PLAIN_TEXT)


_idle_processes: list[ChunkProcess] = []

_idle_lock = threading.Lock()


@contextmanager
def open_chunk_pool(
    limits: PoolLimits,
    chunk_sizes: Sequence[int],
    list_known_hashes: ListKnownHashes = list_no_hashes,
) -> Iterator[ChunkPool]:
    """Return a pool for as long as the block lasts; idle processes are reused."""
    pool = ChunkPool(limits, chunk_sizes, list_known_hashes)
    try:
        yield pool
    finally:
        for process in pool.processes:
            if process.pending:  # cancelled
                process.kill()
        with _idle_lock:
            _idle_processes.extend(process for process in pool.processes if not process.pending)


@atexit.register
def _kill_idle_processes() -> None:
    while _idle_processes:
        _idle_processes.pop().kill()


def _take_idle_processes(count: int) -> list[ChunkProcess]:
    with _idle_lock:
        alive = [process for process in _idle_processes if process.process.poll() is None]
        ended = [process for process in _idle_processes if process not in alive]
        _idle_processes[:] = alive[count:]
    for process in ended:
        process.kill()
    return alive[:count]


def chunk_files(
    files: Iterable[FileOutcome],
    chunk_sizes: Sequence[int],
    limits: PoolLimits,
    cancel: CancelToken,
    list_known_hashes: ListKnownHashes = list_no_hashes,
) -> Generator[FileOutcome]:
    """Yield the outcome of each file, in their order, chunked by other processes.

    Ends early when cancelled. What the processes have no room for is chunked here meanwhile.
    """
    waiting: deque[ChunkJob | FileOutcome] = deque()

    def finish_first() -> FileOutcome:
        first = waiting.popleft()
        return pool.wait_for_chunks(first, cancel) if isinstance(first, ChunkJob) else first

    with suppress(Cancelled), open_chunk_pool(limits, chunk_sizes, list_known_hashes) as pool:
        for file in files:
            while waiting and (
                len(waiting) >= MAX_FILES_AHEAD
                or not isinstance(waiting[0], ChunkJob)
                or pool.is_chunked(waiting[0])
            ):
                yield finish_first()
            waiting.append(pool.submit(file) if isinstance(file, IndexedFile) else file)
        while waiting:
            yield finish_first()
