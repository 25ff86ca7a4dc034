"""A pool of child processes that chunk files ahead of the writer, in order.

A file on which a process dies is retried in a new one, then chunked by lines.
"""

import atexit
import logging
import os
import pickle
import queue
import threading
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from codekernel.domain.child_process import start_python_child
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.settings import Performance
from codekernel.errors import Cancelled
from codekernel.indexing.chunk_worker import (
    HashedChunks,
    PackedChunks,
    UnchunkedFile,
    build_indexed_file,
    chunk_packed,
    chunk_with_hashes,
    unpack_chunks,
)
from codekernel.indexing.index_writer import FileOutcome

logger = logging.getLogger(__name__)

# So much is under way at once: enough that the process never waits for us, little enough that a
# search need not wait long for the processor, and that little is lost by a stop.
MAX_PENDING_CHARS = 200_000


class ChunkProcessEnded(Exception):
    """The process is gone; ``suspect`` is the job it was at work on, if it had any."""

    def __init__(self, suspect_job: int | None) -> None:
        super().__init__(suspect_job)
        self.suspect_job = suspect_job


class ChunkProcess:
    """Used by one thread at a time."""

    def __init__(self) -> None:
        """Start it; raises OSError if the system has no process to give."""
        self._process = start_python_child("codekernel.indexing.chunk_worker")
        self._replies: queue.SimpleQueue[tuple[int, PackedChunks] | None] = queue.SimpleQueue()
        self._ready = threading.Event()
        self._pending_chars: dict[int, int] = {}
        threading.Thread(target=self._read_replies, name="cutter", daemon=True).start()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def has_room(self) -> bool:
        """Whether a job would begin soon."""
        return self._ready.is_set() and sum(self._pending_chars.values()) < MAX_PENDING_CHARS

    def wait_until_ready(self, timeout_seconds: float) -> bool:
        """Wait until it has imported what it needs; false if that takes longer."""
        return self._ready.wait(timeout_seconds)

    @property
    def is_alive(self) -> bool:
        """Whether it can still take jobs."""
        return self._process.poll() is None

    @property
    def pending_jobs(self) -> frozenset[int]:
        """The jobs that have no reply yet."""
        return frozenset(self._pending_chars)

    def submit(self, number: int, text: str, language: str, chunk_sizes: Sequence[int]) -> None:
        """Send a text to be chunked. Raises ChunkProcessEnded."""
        self._pending_chars[number] = len(text)
        pipe = self._process.stdin
        try:
            if pipe:
                pickle.dump((number, text, language, tuple(chunk_sizes)), pipe)
                pipe.flush()
        except OSError:
            raise self._build_ended_error() from None

    def receive(self, timeout_seconds: float) -> tuple[int, PackedChunks] | None:
        """Return the next reply, in the order of the jobs; None if there is none yet.

        Raises ChunkProcessEnded.
        """
        try:
            reply = self._replies.get(timeout=timeout_seconds)
        except queue.Empty:
            return None
        if reply is None:
            raise self._build_ended_error()
        self._pending_chars.pop(reply[0], None)
        return reply

    def kill(self) -> None:
        """End it, whatever it is doing."""
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                try:
                    pipe.close()
                except OSError:  # the last job could not be flushed
                    logger.debug("a chunk process was ended with jobs pending")
        self._process.wait()

    def _build_ended_error(self) -> ChunkProcessEnded:
        return ChunkProcessEnded(next(iter(self._pending_chars), None))

    def _read_replies(self) -> None:
        pipe = self._process.stdout
        try:
            while pipe:
                reply = pickle.load(pipe)  # noqa: S301 - written by our own child
                if reply is None:
                    self._ready.set()
                else:
                    self._replies.put(reply)
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):
            self._replies.put(None)


# More would wait for the one thread that writes their chunks.
MAX_CHUNK_PROCESSES = 3

# As many characters as take 0.1 s to chunk: the first batch.
CHARS_BEFORE_START = 300_000

# How often a wait checks the cancel token.
CANCEL_CHECK_INTERVAL_SECONDS = 0.05

# No grammar has this name: the file is chunked by lines.
PLAIN_TEXT = "text"

_idle_processes: list[ChunkProcess] = []

_idle_lock = threading.Lock()


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

    def __init__(self, limits: PoolLimits, chunk_sizes: Sequence[int]) -> None:
        self.processes = _take_idle_processes(limits.max_processes)
        self._max_processes = limits.max_processes if limits.can_start else 0
        self._chars_chunked_here = 0
        self._chunk_sizes = tuple(chunk_sizes)
        self._chunked: dict[int, PackedChunks] = {}
        self._texts: dict[int, tuple[str, str]] = {}

    def submit(self, number: int, text: str, language: str) -> bool:
        """Send a text to a process; false if none has room for it now."""
        free = [process for process in self.processes if process.has_room]
        if not free:
            return False
        process = min(free, key=lambda one: len(one.pending_jobs))
        self._texts[number] = (text, language)
        try:
            process.submit(number, text, language, self._chunk_sizes)
        except ChunkProcessEnded as end:
            self._remove_process(process, end)
        return True

    def chunk_here(self, text: str, language: str) -> dict[int, HashedChunks]:
        """Chunk a text that no process had room for."""
        self._chars_chunked_here += len(text)
        if (
            self._max_processes > len(self.processes)
            and self._chars_chunked_here >= CHARS_BEFORE_START
        ):
            self.start_processes()
        return chunk_with_hashes(text, language, self._chunk_sizes)

    def start_processes(self) -> None:
        """Start the processes of the limit; once, because those that die are not replaced."""
        missing, self._max_processes = self._max_processes - len(self.processes), 0
        try:
            for _ in range(missing):
                self.processes.append(ChunkProcess())
        except OSError as error:
            logger.warning("no process to chunk files can be started: %s", error)

    def is_chunked(self, number: int) -> bool:
        """Return whether nothing has to be waited for: the text is chunked, or was never sent."""
        if number in self._texts and number not in self._chunked:
            self._receive_reply(number, 0)
        return number not in self._texts or number in self._chunked

    def wait_for_chunks(self, number: int, cancel: CancelToken) -> dict[int, HashedChunks]:
        """Return the chunks of a text that was sent. Raises Cancelled."""
        while number not in self._chunked:
            if cancel.is_cancelled:
                raise Cancelled("indexing was stopped")
            self._receive_reply(number, CANCEL_CHECK_INTERVAL_SECONDS)
        del self._texts[number]
        return unpack_chunks(self._chunked.pop(number), self._chunk_sizes)

    def _receive_reply(self, number: int, timeout_seconds: float) -> None:
        """Take the next reply of the process that has this job; chunk here what none has."""
        for process in self.processes:
            if number in process.pending_jobs:
                try:
                    reply = process.receive(timeout_seconds)
                except ChunkProcessEnded as end:
                    self._remove_process(process, end)
                else:
                    if reply:
                        self._chunked[reply[0]] = reply[1]
                return
        text, language = self._texts[number]
        self._chunked[number] = chunk_packed(text, language, self._chunk_sizes)

    def _remove_process(self, process: ChunkProcess, end: ChunkProcessEnded) -> None:
        """Continue without a process; the text it died on is not tried in this one."""
        self.processes.remove(process)
        process.kill()
        if end.suspect_job is None:
            return
        text, language = self._texts[end.suspect_job]
        logger.warning("a process that chunked %s characters ended; trying again", len(text))
        self._chunked[end.suspect_job] = _retry_chunking(text, language, self._chunk_sizes)


@contextmanager
def open_chunk_pool(limits: PoolLimits, chunk_sizes: Sequence[int]) -> Iterator[ChunkPool]:
    """Return a pool for as long as the block lasts; idle processes are reused."""
    pool = ChunkPool(limits, chunk_sizes)
    try:
        yield pool
    finally:
        idle = [process for process in pool.processes if not process.pending_jobs]
        for process in pool.processes:
            if process not in idle:  # cancelled with jobs pending
                process.kill()
        with _idle_lock:
            _idle_processes.extend(idle)


@atexit.register
def _kill_idle_processes() -> None:
    while _idle_processes:
        _idle_processes.pop().kill()


def _take_idle_processes(count: int) -> list[ChunkProcess]:
    with _idle_lock:
        alive = [process for process in _idle_processes if process.is_alive]
        ended = [process for process in _idle_processes if process not in alive]
        _idle_processes[:] = alive[count:]
    for process in ended:
        process.kill()
    return alive[:count]


def _retry_chunking(text: str, language: str, chunk_sizes: tuple[int, ...]) -> PackedChunks:
    """Chunk a text on which a process died: in a new one, and if that dies too, by lines."""
    try:
        process = ChunkProcess()
    except OSError:
        return chunk_packed(text, PLAIN_TEXT, chunk_sizes)
    try:
        process.submit(0, text, language, chunk_sizes)
        while (reply := process.receive(CANCEL_CHECK_INTERVAL_SECONDS)) is None:
            continue
    except ChunkProcessEnded:
        logger.warning("the parser fails on a file in %s; it is chunked by lines", language)
        return chunk_packed(text, PLAIN_TEXT, chunk_sizes)
    finally:
        process.kill()
    return reply[1]


# Behind a large file that is still being chunked, this many chunked ones may wait.
MAX_FILES_AHEAD = 64


def chunk_files(
    files: Iterable[UnchunkedFile | FileOutcome],
    chunk_sizes: Sequence[int],
    limits: PoolLimits,
    cancel: CancelToken,
) -> Generator[FileOutcome]:
    """Yield the outcome of each file, in their order, chunked by other processes.

    Ends early when cancelled. What the processes have no room for is chunked here meanwhile.
    """
    waiting: deque[tuple[int, UnchunkedFile | FileOutcome]] = deque()
    with open_chunk_pool(limits, chunk_sizes) as pool:
        try:
            for number, file in enumerate(files):
                while len(waiting) >= MAX_FILES_AHEAD or (
                    waiting and pool.is_chunked(waiting[0][0])
                ):
                    yield _finish_file(*waiting.popleft(), pool, cancel)
                is_sent = not isinstance(file, UnchunkedFile) or pool.submit(
                    number, file.source.text, file.language
                )
                waiting.append((number, file if is_sent else _chunk_here(file, pool)))
            while waiting:
                yield _finish_file(*waiting.popleft(), pool, cancel)
        except Cancelled:
            return


def _chunk_here(file: UnchunkedFile | FileOutcome, pool: ChunkPool) -> FileOutcome:
    if not isinstance(file, UnchunkedFile):
        return file
    return build_indexed_file(file, pool.chunk_here(file.source.text, file.language))


def _finish_file(
    number: int, file: UnchunkedFile | FileOutcome, pool: ChunkPool, cancel: CancelToken
) -> FileOutcome:
    if not isinstance(file, UnchunkedFile):
        return file
    return build_indexed_file(file, pool.wait_for_chunks(number, cancel))
