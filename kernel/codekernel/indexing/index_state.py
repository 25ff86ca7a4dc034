"""What the two threads of an index share: states, inboxes, events, and the progress of each file.

Progress is reported to subscribers: throttled, never backwards, and at least every two seconds
while files are pending, so that a front end never shows a bar that stands still. Not imported
before ``ready``: each class costs a start a third of a millisecond.
"""

import threading
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from enum import Enum, auto

from codekernel.domain.concurrency import CancelToken, PauseSwitch, WorkControl
from codekernel.domain.index import IndexedFile, SkippedFileRecord
from codekernel.indexing.battery import is_on_battery
from codekernel.indexing.files_elsewhere import NOTHING_ELSEWHERE, FilesElsewhere
from codekernel.indexing.index_plan import DEFAULT_TIMINGS, IndexPlan, IndexTimings

FileProgressCallback = Callable[[str, str, float], None]

EMBEDDING, DONE = "embedding", "done"

# The shares of a file's work that the front end's progress bar expects.
CHUNKED_SHARE = 0.03

EMBEDDED_SHARE = 0.96

# Progress is reported near both ends, after a large step, or when nothing was reported for a while.
START_SHARE, END_SHARE = 0.03, 0.99

MIN_REPORTED_STEP = 0.15

REPORT_INTERVAL_SECONDS = 1.0

# With the second of silence before it, a reminder comes after one and a half seconds at the latest.
REMINDER_INTERVAL_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class EmbedStep:
    """What one batch achieved: files that are complete, and the share reached of the next one."""

    finished_files: tuple[int, ...]
    partial_file: tuple[int, float] | None = None


@dataclass(slots=True)
class _FileProgress:
    reported: float = 0.0
    reached: float = 0.0


class ProgressTracker:
    """The pending files; used by any thread. ``*_count`` are totals since it was made."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._files: dict[str, _FileProgress] = {}
        self._reported_at = clock()
        self._reported_path = ""
        self._subscribers: dict[object, FileProgressCallback] = {}
        # Held while something is reported, so that no report of a file follows its last one.
        self._condition = threading.Condition(threading.RLock())

    @property
    def pending_count(self) -> int:
        """How many files have begun and not ended."""
        return len(self._files)

    def subscribe(self, report: FileProgressCallback) -> Callable[[], None]:
        """Call ``report`` for each pending file, then with all progress; returns how to stop it."""
        token = object()
        with self._condition:
            for path, file in self._files.items():
                report(path, EMBEDDING, file.reached)
            self._subscribers[token] = report

        def unsubscribe() -> None:
            self._subscribers.pop(token, None)

        return unsubscribe

    def begin_files(self, paths: Iterable[str]) -> bool:
        """Add files that have changed; returns whether any of them was not pending already."""
        has_new = False
        for path in paths:
            with self._condition:
                if path not in self._files:
                    if not self._files:
                        self._condition.notify_all()
                    has_new = True
                    self._files[path] = _FileProgress()
                    self._report(path, EMBEDDING, 0.0)
        return has_new

    def mark_read(self, path: str) -> bool:
        """A file has been read and its content is new; returns whether it was not pending."""
        return self.begin_files([path])

    def mark_chunked(self, path: str) -> None:
        """A file has been read and chunked, and can be found lexically."""
        self._advance(path, CHUNKED_SHARE)

    def mark_embedded(self, path: str, share: float) -> None:
        """A share of the file's texts, over all configs, has vectors."""
        self._advance(path, CHUNKED_SHARE + EMBEDDED_SHARE * share)

    def finish_file(self, path: str) -> None:
        """Nothing is left to do for a file; reported once."""
        with self._condition:
            if self._files.pop(path, None):
                self._report(path, DONE, 1.0)

    def send_reminder(self) -> None:
        """Report a pending file again if nothing was reported for a while."""
        with self._condition:
            latest = self._reported_path
            path = latest if latest in self._files else next(iter(self._files), "")
            if path and self._clock() - self._reported_at >= REPORT_INTERVAL_SECONDS:
                file = self._files[path]
                file.reported = file.reached
                self._report(path, EMBEDDING, file.reached)

    def run_reminders(self, cancel: CancelToken, pause: PauseSwitch) -> None:
        """Send reminders until cancelled and woken; sleeps while nothing is pending."""
        with self._condition:
            while not cancel.is_cancelled:
                self._condition.wait(REMINDER_INTERVAL_SECONDS if self._files else None)
                if not cancel.is_cancelled and not pause.is_paused:
                    self.send_reminder()

    def wake(self) -> None:
        """Let ``run_reminders`` look at its cancel token."""
        with self._condition:
            self._condition.notify_all()

    def _advance(self, path: str, value: float) -> None:
        with self._condition:
            file = self._files.get(path)
            if file is None or value <= file.reached:
                return
            file.reached = value
            if (
                value < START_SHARE
                or value > END_SHARE
                or value - file.reported >= MIN_REPORTED_STEP
                or self._clock() - self._reported_at >= REPORT_INTERVAL_SECONDS
            ):
                file.reported = value
                self._report(path, EMBEDDING, value)

    def _report(self, path: str, status: str, value: float) -> None:
        self._reported_at, self._reported_path = self._clock(), path
        for report in list(self._subscribers.values()):
            report(path, status, value)


class MissingVectors:
    """The configs for which each pending file still needs vectors; used by the embed thread."""

    def __init__(self, progress: ProgressTracker) -> None:
        self._progress = progress
        self._files: dict[int, tuple[str, set[str]]] = {}

    def add(self, files: Iterable[tuple[int, str]], names: Collection[str]) -> None:
        """Note that these configs lack vectors of files, given by id and path."""
        for file_id, path in files:
            if names:
                self._files.setdefault(file_id, (path, set()))[1].update(names)
            else:
                self._progress.finish_file(path)

    def finish(self, file_id: int, name: str, config_count: int) -> None:
        """Note that a config has all vectors of a file."""
        path, missing = self._files.get(file_id, ("", set()))
        missing.discard(name)
        if missing:
            self.report(file_id, 0.0, config_count)
        elif path:
            del self._files[file_id]
            self._progress.finish_file(path)

    def report(self, file_id: int, share: float, config_count: int) -> None:
        """Report a file; ``share`` is the progress of its present config."""
        if file_id in self._files and config_count:
            path, missing = self._files[file_id]
            done = 1 - (len(missing) - share) / max(config_count, len(missing))
            self._progress.mark_embedded(path, done)

    def keep_configs(self, names: Collection[str]) -> None:
        """Forget other configs; files that waited only for them are finished."""
        for file_id, (_, missing) in list(self._files.items()):
            for name in missing.difference(names):
                self.finish(file_id, name, len(names))


class IndexState(Enum):
    """What the index worker does; the values are the words of the wire."""

    STARTING = "starting"
    REBUILDING = "recovering"  # comparing the store with its checksums, finishing what a crash left
    INDEXING = "indexing"
    EMBEDDING = "embedding"
    IDLE = "idle"
    PAUSED = "paused"
    READ_ONLY = "read-only"
    FAILED = "trouble"  # until a retry succeeds


@dataclass(frozen=True, slots=True)
class WorkRequest:
    """What the index worker is asked for; false if nothing."""

    paths: frozenset[str] = frozenset()
    needs_scan: bool = False
    needs_rechunk: bool = False  # chunk sizes were added or are no longer used
    plan: IndexPlan | None = None
    needs_verification: bool = False
    needs_check: bool = False  # verification if the files of the store have changed

    def __bool__(self) -> bool:
        return self != NO_REQUEST

    @property
    def needs_indexing(self) -> bool:
        """Whether files or chunks are to be written."""
        return bool(self.paths) or self.needs_scan or self.needs_rechunk

    def merge(self, later: "WorkRequest") -> "WorkRequest":
        """Return one request for both."""
        return WorkRequest(
            self.paths | later.paths,
            self.needs_scan or later.needs_scan,
            self.needs_rechunk or later.needs_rechunk,
            later.plan or self.plan,
            self.needs_verification or later.needs_verification,
            self.needs_check or later.needs_check,
        )


NO_REQUEST = WorkRequest()


class EmbedState(Enum):
    """How far the vectors of the present plan are."""

    UNPLANNED = auto()
    UNOPENED = auto()  # no file needs a model so far: a model costs a second and its memory
    WARMING = auto()  # models are open, vectors may be missing
    READY = auto()  # every chunk has its vectors
    EMPTY = auto()  # the repository has no text, and no model is open


class ChunkingProgress(Enum):
    """How far the index worker is with the files of the present plan."""

    UNSCANNED = auto()
    SCANNED = auto()
    COMPLETE = auto()


@dataclass(slots=True)
class EmbedInbox:
    """What the embed worker is asked for and has not begun."""

    plan: IndexPlan | None = None
    opens_now: bool = False  # whether the vectors of the plan are opened without a delay
    files: list[tuple[int, str]] = field(default_factory=list)
    expects_files: bool = False

    def __bool__(self) -> bool:
        return bool(self.plan or self.files or self.expects_files)


@dataclass(frozen=True, slots=True)
class WorkerContext:
    """What the threads of one index share.

    The embed thread holds ``vectors_lock``: that of a worker that was replaced may still end its
    last step.
    """

    progress: ProgressTracker
    control: WorkControl
    timings: IndexTimings = DEFAULT_TIMINGS
    is_on_battery: Callable[[], bool] = is_on_battery
    vectors_lock: threading.Lock = field(default_factory=threading.Lock)
    elsewhere: FilesElsewhere = NOTHING_ELSEWHERE


@dataclass(frozen=True, slots=True)
class TouchedFile:
    """A file with a new date and the same content."""

    path: str
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class RemovedFile:
    """A file that was indexed or skipped, and is gone."""

    path: str


# An IndexedFile that has been read and not chunked has no chunk sizes.
FileOutcome = IndexedFile | TouchedFile | SkippedFileRecord | RemovedFile


@dataclass(frozen=True, slots=True)
class FilesStarted:
    """Files that have changed and are about to be indexed."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FileRead:
    """A file with new content that has been read and chunked."""

    path: str


@dataclass(frozen=True, slots=True)
class BatchCommitted:
    """What can be searched lexically now: id and path of ``files``, whose chunks may need vectors.

    Nothing is left to do for ``finished``: files that are gone or skipped.
    """

    files: tuple[tuple[int, str], ...]
    finished: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FoldersChanged:
    """Other folders are skipped than before the scan."""


IndexEvent = FilesStarted | FileRead | BatchCommitted | FoldersChanged
