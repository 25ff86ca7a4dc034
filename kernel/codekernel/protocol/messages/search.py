"""Search, the list of chunks, and the status, pausing and skipped files of the index."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from codekernel.protocol.envelope import Message, ReplyData

# More than a person looks through; the list is one line in memory.
MAX_SKIPPED_FILES = 10_000


class Search(Message, frozen=True, tag="search"):
    """Rank the chunks of the open repository against a query; no limit means the settings' one."""

    query: str
    limit: Annotated[int, Meta(ge=1)] | None = None
    accuracy: bool = False
    explain: bool = False
    # Not in the document: false ranks by words alone.
    semantic: bool = True
    # Of these embedding configs alone: to compare them.
    configs: list[str] | None = None


class SearchResult(ReplyData, frozen=True, omit_defaults=True):
    """One chunk that answers the query; after ``score`` come additions to the document."""

    content: str
    highlighted_content: str
    metadata: str
    highlighted_metadata: str
    begin_line: int
    end_line: int
    file_path: str
    score: float
    chunk_id: int
    symbol: str
    language: str
    freshness: str
    why: dict[str, float] | None = None


class SearchReply(ReplyData, frozen=True):
    """Best first."""

    results: list[SearchResult]
    type: str = "result"
    # False if an exact string or an expression stands, or may stand, in further places; else left
    # out.
    is_complete: bool | UnsetType = UNSET


class GetChunksInfo(Message, frozen=True, tag="getChunksInfo"):
    """List every chunk of the open repository."""


class ChunkInfo(ReplyData, frozen=True):
    """A chunk as one embedding config has it."""

    chunk_id: int
    file_path: str
    content: str
    metadata: str
    begin_line: int
    end_line: int
    embedding_name: str


class GetIndexStatus(Message, frozen=True, tag="getIndexStatus"):
    """Ask how far the index of the open repository is; an addition to the document."""


class MeasureEmbedding(Message, frozen=True, tag="measureEmbedding"):
    """Ask how long the model of an embedding config takes; an addition to the document."""

    config: str


class MeasureEmbeddingReply(ReplyData, frozen=True):
    """Measured on some chunks of the open repository; 0 if it has none."""

    seconds_per_chunk: float


class PauseIndexing(Message, frozen=True, tag="pauseIndexing"):
    """Let the work on the index stand still, or go on; an addition to the document."""

    paused: bool


class PauseIndexingReply(ReplyData, frozen=True):
    """As it is from now on, for all windows on the repository."""

    paused: bool


class GetSkippedFiles(Message, frozen=True, tag="getSkippedFiles"):
    """List files that are not indexed, with their reasons; an addition to the document."""

    limit: Annotated[int, Meta(ge=1, le=MAX_SKIPPED_FILES)] = 1000


class SkippedFile(ReplyData, frozen=True):
    """A file that is not indexed, or with ``/`` at its end a whole folder, and why."""

    file_path: str
    reason: str
    detail: str


class GetSkippedFilesReply(ReplyData, frozen=True):
    """The first of them by path; ``total`` is how many there are."""

    skipped: list[SkippedFile]
    total: int


class ConfigStatusEntry(ReplyData, frozen=True):
    """One selected embedding config."""

    name: str
    ready: bool
    chunks: int
    waiting: int
    chunks_per_second: float | None
    seconds_left: float | None
    trouble: str


class EndpointAskEntry(ReplyData, frozen=True):
    """What would be sent of the repository to the endpoint of a remote model.

    ``tokens`` and ``cost``, which is null without a price, are estimates. A reranker is sent
    ``chunks`` with each accurate search.
    """

    model: str
    endpoint: str
    chunks: int
    size_bytes: int
    tokens: int
    cost: float | None
    each_search: bool


class GetIndexStatusReply(ReplyData, frozen=True):
    """Counts of what is indexed, what waits, and what stands in the way."""

    state: str
    files: int
    chunks: int
    files_waiting: int
    refused: dict[str, int]
    configs: list[ConfigStatusEntry]
    watching: str
    trouble: str
    paused: bool
    # Remote models that wait for ``allowEndpoint``; left out if there are none.
    asks: list[EndpointAskEntry] | UnsetType = UNSET


class AllowEndpoint(Message, frozen=True, tag="allowEndpoint"):
    """Say whether the repository may be sent to a remote model; an addition to the document."""

    model: str
    allowed: bool


class AllowEndpointReply(ReplyData, frozen=True):
    """As it is from now on, for this repository and this endpoint."""

    model: str
    allowed: bool


class EmbeddingStatus(Message, frozen=True, tag="embeddingStatus"):
    """Session -> window: how far the indexing of one file is."""

    file_path: str
    status: str
    progress: float
