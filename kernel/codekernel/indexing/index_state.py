"""The states and inboxes of the two threads of an index.

Also what becomes of a file, and the events of the indexer. Not imported before ``ready``: each
class costs a start a third of a millisecond.
"""

from dataclasses import dataclass, field
from enum import Enum, auto

from codekernel.domain.concurrency import WorkControl
from codekernel.domain.index import IndexedFile, SkippedFileRecord
from codekernel.indexing.index_plan import DEFAULT_TIMINGS, IndexPlan, IndexTimings
from codekernel.indexing.progress import ProgressTracker


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

    ``follows_files`` keeps the index in step with its files; otherwise it is brought up to date
    once. Without ``embeds`` only the lexical index is written.
    """

    progress: ProgressTracker
    control: WorkControl
    timings: IndexTimings = DEFAULT_TIMINGS
    follows_files: bool = True
    embeds: bool = True


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
