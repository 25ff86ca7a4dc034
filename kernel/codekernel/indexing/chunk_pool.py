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
        """The system's number of it."""
        return self._process.pid

    @property
    def has_room(self) -> bool:
        """Whether a job would be begun soon."""
        return self._ready.is_set() and sum(self._pending_chars.values()) < MAX_PENDING_CHARS

    def wait_until_ready(self, timeout_seconds: float) -> bool:
        """Wait until it has imported what it needs; false if that takes longer."""
        return self._ready.wait(timeout_seconds)

    @property
    def is_alive(self) -> bool:
        """Whether it can still be given something."""
        return self._process.poll() is None

    @property
    def pending_jobs(self) -> frozenset[int]:
        """The jobs that have not come back."""
        return frozenset(self._pending_chars)

    def submit(self, number: int, text: str, language: str, chunk_sizes: Sequence[int]) -> None:
        """Have a text cut; raises CutterEnded."""
        self._pending_chars[number] = len(text)
        pipe = self._process.stdin
        try:
            if pipe:
                pickle.dump((number, text, language, tuple(chunk_sizes)), pipe)
                pipe.flush()
        except OSError:
            raise self._build_ended_error() from None

    def receive(self, timeout_seconds: float) -> tuple[int, PackedChunks] | None:
        """What was finished next, in the order it was given; none if nothing is yet.

        Raises CutterEnded.
        """
        try:
            answer = self._replies.get(timeout=timeout_seconds)
        except queue.Empty:
            return None
        if answer is None:
            raise self._build_ended_error()
        self._pending_chars.pop(answer[0], None)
        return answer

    def kill(self) -> None:
        """End it, whatever it is doing."""
        self._process.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe:
                try:
                    pipe.close()
                except OSError:  # what was written last has nowhere to go
                    logger.debug("a cutter was ended with work before it")
        self._process.wait()

    def _build_ended_error(self) -> ChunkProcessEnded:
        return ChunkProcessEnded(next(iter(self._pending_chars), None))

    def _read_replies(self) -> None:
        pipe = self._process.stdout
        try:
            while pipe:
                answer = pickle.load(pipe)  # noqa: S301 - written by our own child
                if answer is None:
                    self._ready.set()
                else:
                    self._replies.put(answer)
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):
            self._replies.put(None)


# More would wait for the one thread that writes what they cut.
MAX_CHUNK_PROCESSES = 3

# As many characters as take a tenth of a second to cut: the first batch.
CHARS_BEFORE_START = 300_000

# How often a wait looks at the cancel token.
CANCEL_CHECK_INTERVAL_SECONDS = 0.05

# No grammar has this name: the file is cut by its lines.
PLAIN_TEXT = "text"

_idle_processes: list[ChunkProcess] = []

_idle_lock = threading.Lock()


def count_chunk_processes(performance: Performance) -> int:
    """How many processes may cut: half of the cores that may be used, the rest embeds and writes.

    None on one core, where a second process would only wait for the first.
    """
    cores = performance.max_threads or os.cpu_count() or 1
    return min(MAX_CHUNK_PROCESSES, cores // 2)


@dataclass(frozen=True, slots=True)
class PoolLimits:
    """How many processes may help; unless ``start``, only those that an earlier list has left."""

    max_processes: int
    can_start: bool = True


class ChunkPool:
    """Some processes at work for one thread; with none of them alive it still cuts, by itself.

    New processes are started only after some work was done here: their start would otherwise delay
    the first words that can be found.
    """

    def __init__(self, limits: PoolLimits, chunk_sizes: Sequence[int]) -> None:
        self.processes = _take_idle_processes(limits.max_processes)
        self._max_processes = limits.max_processes if limits.can_start else 0
        self._chars_chunked_here = 0
        self._chunk_sizes = tuple(chunk_sizes)
        self._chunked: dict[int, PackedChunks] = {}
        self._texts: dict[int, tuple[str, str]] = {}

    def submit(self, number: int, text: str, language: str) -> bool:
        """Have a text cut under this number; false if nobody has room for it now."""
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
        """The chunks of a text that nobody had room for."""
        self._chars_chunked_here += len(text)
        if (
            self._max_processes > len(self.processes)
            and self._chars_chunked_here >= CHARS_BEFORE_START
        ):
            self.start_processes()
        return chunk_with_hashes(text, language, self._chunk_sizes)

    def start_processes(self) -> None:
        """Have as many processes as were asked for; once, for what dies is not replaced."""
        missing, self._max_processes = self._max_processes - len(self.processes), 0
        try:
            for _ in range(missing):
                self.processes.append(ChunkProcess())
        except OSError as error:
            logger.warning("files are cut by one process, for no other can be started: %s", error)

    def is_chunked(self, number: int) -> bool:
        """Whether nothing has to be waited for: the text is cut, or was never given."""
        if number in self._texts and number not in self._chunked:
            self._receive_reply(number, 0)
        return number not in self._texts or number in self._chunked

    def wait_for_chunks(self, number: int, cancel: CancelToken) -> dict[int, HashedChunks]:
        """The chunks of a text that was given; raises Cancelled."""
        while number not in self._chunked:
            if cancel.is_cancelled:
                raise Cancelled("indexing was stopped")
            self._receive_reply(number, CANCEL_CHECK_INTERVAL_SECONDS)
        del self._texts[number]
        return unpack_chunks(self._chunked.pop(number), self._chunk_sizes)

    def _receive_reply(self, number: int, timeout_seconds: float) -> None:
        """Take the next answer of whoever has this number; what nobody has any more is cut here."""
        for process in self.processes:
            if number in process.pending_jobs:
                try:
                    answer = process.receive(timeout_seconds)
                except ChunkProcessEnded as end:
                    self._remove_process(process, end)
                else:
                    if answer:
                        self._chunked[answer[0]] = answer[1]
                return
        text, language = self._texts[number]
        self._chunked[number] = chunk_packed(text, language, self._chunk_sizes)

    def _remove_process(self, process: ChunkProcess, end: ChunkProcessEnded) -> None:
        """Go on without a process; what it was cutting is not tried in ours."""
        self.processes.remove(process)
        process.kill()
        if end.suspect_job is None:
            return
        text, language = self._texts[end.suspect_job]
        logger.warning("a process that cut a file of %s characters ended; once more", len(text))
        self._chunked[end.suspect_job] = _retry_chunking(text, language, self._chunk_sizes)


@contextmanager
def open_chunk_pool(limits: PoolLimits, chunk_sizes: Sequence[int]) -> Iterator[ChunkPool]:
    """Processes for as long as the block lasts: those that are spare, and new ones."""
    team = ChunkPool(limits, chunk_sizes)
    try:
        yield team
    finally:
        idle = [process for process in team.processes if not process.pending_jobs]
        for process in team.processes:
            if process not in idle:  # stopped in the middle of something
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
    """Cut a text on which a process died: in a new one, and if that dies too, by its lines."""
    try:
        process = ChunkProcess()
    except OSError:
        return chunk_packed(text, PLAIN_TEXT, chunk_sizes)
    try:
        process.submit(0, text, language, chunk_sizes)
        while (answer := process.receive(CANCEL_CHECK_INTERVAL_SECONDS)) is None:
            continue
    except ChunkProcessEnded:
        logger.warning("the parser cannot bear a file in %s; it is cut by its lines", language)
        return chunk_packed(text, PLAIN_TEXT, chunk_sizes)
    finally:
        process.kill()
    return answer[1]


# Behind a large file that is still being cut, so many that are done may wait for their turn.
MAX_FILES_AHEAD = 64


def chunk_files(
    files: Iterable[UnchunkedFile | FileOutcome],
    chunk_sizes: Sequence[int],
    limits: PoolLimits,
    cancel: CancelToken,
) -> Generator[FileOutcome]:
    """What becomes of each file, in their order, with the help of other processes.

    Ends early when cancelled. What the processes have no room for is cut here meanwhile.
    """
    waiting: deque[tuple[int, UnchunkedFile | FileOutcome]] = deque()
    with open_chunk_pool(limits, chunk_sizes) as team:
        try:
            for number, file in enumerate(files):
                while len(waiting) >= MAX_FILES_AHEAD or (
                    waiting and team.is_chunked(waiting[0][0])
                ):
                    yield _finish_file(*waiting.popleft(), team, cancel)
                given = not isinstance(file, UnchunkedFile) or team.submit(
                    number, file.source.text, file.language
                )
                waiting.append((number, file if given else _chunk_here(file, team)))
            while waiting:
                yield _finish_file(*waiting.popleft(), team, cancel)
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
