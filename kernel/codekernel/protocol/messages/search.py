"""Search, the list of chunks, and the status, pausing and skipped files of the index."""

from typing import Annotated, Self

from msgspec import UNSET, Meta, UnsetType, structs

from codekernel.protocol.envelope import Message, ReplyData

# More than a person looks through; the list is one line in memory.
MAX_SKIPPED_FILES = 10_000

# More than a palette shows.
MAX_FOUND_NAMES = 200


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
    # Whether to count what all hits have in common.
    facets: bool = False


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


class FacetValue(ReplyData, frozen=True):
    """What some of the hits have in common, and how many."""

    value: str
    count: int


class SearchFacets(ReplyData, frozen=True):
    """Of ``total`` hits, the commonest of each first; folders also count for those above them."""

    total: int
    languages: list[FacetValue]
    folders: list[FacetValue]
    kinds: list[FacetValue]
    symbols: list[FacetValue]


class SearchReply(ReplyData, frozen=True):
    """Best first."""

    results: list[SearchResult]
    type: str = "result"
    # False if an exact string or an expression stands, or may stand, in further places; else left
    # out.
    is_complete: bool | UnsetType = UNSET
    facets: SearchFacets | UnsetType = UNSET
    # What was not searched, as a sentence; left out if everything was.
    gap: str | UnsetType = UNSET


class FindNames(Message, frozen=True, tag="findNames"):
    """Find files and symbols by a part of their name; an addition to the document."""

    query: str
    limit: Annotated[int, Meta(ge=1, le=MAX_FOUND_NAMES)] = 20


class FoundFileName(ReplyData, frozen=True):
    """An indexed file."""

    file_path: str


class FoundName(ReplyData, frozen=True):
    """A name that is defined in a file, and the line of the definition, from 0."""

    name: str
    file_path: str
    line: int


class FindNamesReply(ReplyData, frozen=True):
    """The best first."""

    files: list[FoundFileName]
    symbols: list[FoundName]


class SearchRepos(Message, frozen=True, tag="searchRepos"):
    """Rank the chunks of several repositories together; an addition to the document.

    ``repos`` are names, else all that are registered; ``repo:`` in the query narrows them.
    """

    query: str
    repos: list[str] | None = None
    limit: Annotated[int, Meta(ge=1)] | None = None
    accuracy: bool = False
    explain: bool = False
    semantic: bool = True


class RepoSearchResult(SearchResult, frozen=True, omit_defaults=True):
    """A result and its repository; scores are comparable among repositories."""

    repo_name: str = ""
    repo_path: str = ""

    @classmethod
    def from_result(cls, result: SearchResult, name: str, path: str) -> Self:
        """Return a result with its repository."""
        return cls(**structs.asdict(result), repo_name=name, repo_path=path)


class SearchedRepo(ReplyData, frozen=True):
    """How the search of one repository went.

    ``error`` if it could not be searched; ``gap`` says what was not searched of it.
    """

    repo_name: str
    path: str
    hits: int
    error: str
    gap: str


class SearchReposReply(ReplyData, frozen=True):
    """Best first, and how each repository was searched."""

    results: list[RepoSearchResult]
    repos: list[SearchedRepo]
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


class TuningQuestion(ReplyData, frozen=True):
    """A text, and the files that a search for it should find."""

    text: str
    file_paths: list[str]


class TuneRanking(Message, frozen=True, tag="tuneRanking"):
    """Learn how much each signal counts in the open repository; an addition to the document.

    ``questions`` come newest first; none at all removes what was learned.
    """

    questions: list[TuningQuestion]


class GainEntry(ReplyData, frozen=True):
    """A mean difference of NDCG@10, and its interval of 95 %."""

    mean: float
    low: float
    high: float


class TuneRankingReply(ReplyData, frozen=True):
    """Whether there are learned weights now, and what they gain on the questions set aside.

    ``weights`` are factors of the defaults: those in force if ``kept``, else those that did not
    hold.
    """

    kept: bool
    weights: dict[str, float]
    trained: int
    set_aside: int
    before: float
    training_gain: GainEntry
    gain: GainEntry


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


class GetIndexMap(Message, frozen=True, tag="getIndexMap"):
    """Ask what is indexed and skipped in a folder, '' for all; an addition to the document."""

    folder: str = ""


class IndexMapEntry(ReplyData, frozen=True):
    """A file, or a folder with all below it; ``language`` is that of most bytes."""

    name: str
    is_folder: bool
    files: int
    bytes: int
    language: str
    skipped: int


class LanguageEntry(ReplyData, frozen=True):
    """The indexed files of a language."""

    language: str
    files: int
    bytes: int


class GetIndexMapReply(ReplyData, frozen=True):
    """The largest first."""

    folder: str
    entries: list[IndexMapEntry]
    languages: list[LanguageEntry]


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
    notice: str
    cause: str
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
