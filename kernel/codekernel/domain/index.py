"""Values of the index: repositories, source files, chunks in the catalog, ranked hits.

The status of an index, and the language of a file by its name (languages.txt).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path


class SkipReason(StrEnum):
    """Why a file is not indexed; the words are stored and shown, so they stay as they are."""

    IGNORED = "ignored"  # by .gitignore, .codekernelignore, git's excludes or a built-in rule
    TOO_LARGE = "too-large"
    BINARY = "binary"
    MINIFIED = "minified"
    GENERATED = "generated"  # says so itself, or is a lock file or a source map
    LINK = "link"  # leads to a place inside the repository, where the file is indexed
    OUTSIDE = "outside"  # a link, or a path asked for, that leaves the repository
    NOT_A_FILE = "not-a-file"  # a pipe, socket, device, or a folder
    UNREADABLE = "unreadable"  # the system refuses
    UNDECODABLE = "undecodable"  # no encoding we know makes text of it
    CHANGING = "changing"  # written to faster than it could be read
    VANISHED = "vanished"
    IN_BASE = "in-base"  # as the base of the team has it, where it is searched; detail: its digest


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file to index; ``path`` is relative, '/'-separated, odd bytes in it as surrogates."""

    path: str
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class SkippedPath:
    """A file that is not indexed; with a '/' at the end of ``path``, a whole folder.

    ``detail`` is for a person and names the rule: ``.gitignore line 3: *.log``.
    """

    path: str
    reason: SkipReason
    detail: str


@dataclass(frozen=True, slots=True)
class SourceText:
    """The text of a file, line ends as they are, a byte order mark taken off.

    ``digest`` is of the raw bytes; size and time of change are those the bytes were read at.
    """

    text: str
    encoding: str
    size: int
    mtime_ns: int
    digest: bytes


def _read_language_table() -> tuple[dict[str, str], dict[str, str]]:
    by_extension: dict[str, str] = {}
    by_name: dict[str, str] = {}
    table = Path(__file__).with_name("languages.txt").read_text("utf-8")
    for line in table.splitlines()[1:]:
        language, _, rest = line.partition(":")
        extensions, _, names = rest.partition("|")
        by_extension |= dict.fromkeys(extensions.split(), language)
        by_name |= dict.fromkeys(names.split(), language)
    return by_extension, by_name


_LANGUAGE_BY_EXTENSION, _LANGUAGE_BY_NAME = _read_language_table()

LANGUAGE_NAMES = tuple(dict.fromkeys(_LANGUAGE_BY_EXTENSION.values()))

UNKNOWN_LANGUAGE = "text"


def detect_language(path: str) -> str:
    """Return the language of the file at ``path`` by its name, or UNKNOWN_LANGUAGE."""
    name = path.replace("\\", "/").rpartition("/")[2].lower()
    stem, _, extension = name.rpartition(".")
    return (
        _LANGUAGE_BY_NAME.get(name)
        or (_LANGUAGE_BY_EXTENSION.get(extension) if stem else None)
        # Dockerfile.dev, Makefile.am
        or _LANGUAGE_BY_NAME.get(name.partition(".")[0], UNKNOWN_LANGUAGE)
    )


# Separates the names of a path of symbols, as the front end shows it.
SYMBOL_SEPARATOR = ">"


@dataclass(frozen=True, slots=True)
class Chunk:
    """Lines ``begin_line`` (0-based) up to, not including, ``end_line`` of one text.

    ``begin`` and ``end`` are the same bounds in characters of that text, so that
    ``text[begin:end]`` is the content. The chunks of a text follow each other without gap or
    overlap; only a line that is longer than the budget is shared, by the chunks it was cut into.
    """

    begin_line: int
    end_line: int
    begin: int
    end: int
    kind: str = "lines"
    # Names of what surrounds the chunk and, last, of what it is: ("Session", "close"), or headings.
    symbols: tuple[str, ...] = ()
    # The first line of the innermost definition around or in the chunk, white space collapsed.
    signature: str = ""
    # Every name that a definition beginning in this chunk introduces.
    defined_names: tuple[str, ...] = ()


def format_symbol_path(symbols: tuple[str, ...]) -> str:
    """The names as one word: ``Session>close``."""
    return SYMBOL_SEPARATOR.join(symbols)


def build_embedding_text(symbols: tuple[str, ...], content: str) -> str:
    """What a model reads of a chunk; without its path, so that a renamed file keeps its vectors."""
    return f"{format_symbol_path(symbols)}\n{content}" if symbols else content


@dataclass(frozen=True, slots=True)
class FileRecord:
    """A file as it was when it was last read; ``mtime_ns`` is -1 while that may have been racy."""

    id: int
    size: int
    mtime_ns: int
    digest: bytes


@dataclass(frozen=True, slots=True)
class IndexedFile:
    """A file that has just been read and cut, on its way into the catalogue."""

    path: str
    size: int
    mtime_ns: int
    digest: bytes
    language: str
    encoding: str
    text: str
    # For each input length, the chunks and the keys of their embedded texts.
    chunks_by_size: dict[int, list[tuple[Chunk, int]]]
    # The stems of the texts of some chunks, by their keys.
    stems_by_key: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedChunk(Chunk):
    """A chunk in the catalog; ``id`` stays the same for as long as its text does."""

    id: int
    path: str
    language: str
    max_chunk_chars: int
    text_hash: int


@dataclass(frozen=True, slots=True)
class SkippedFileRecord:
    """A file that is not indexed and why; size and time tell whether to look again."""

    path: str
    reason: str
    detail: str
    size: int
    mtime_ns: int


def format_chunk_metadata(path: str, chunk: Chunk) -> str:
    """Where a chunk stands, for a person: its file, the names around it, its signature."""
    lines = [f" <FilePath> {path}", f"<Path> {format_symbol_path(chunk.symbols) or 'plainText'}"]
    if chunk.signature:
        lines.append(f"<Signature> {chunk.signature}")
    return "\n".join(lines) + "\n"


FRESH = "fresh"

CHANGED_SINCE_INDEXED = "changed since indexed"

EMBEDDING_PENDING = "embedding pending"


class Signal(StrEnum):
    """The parts of a score, in the words of the wire (``why`` of a search result)."""

    LEXICAL = "words"
    SEMANTIC = "meaning"
    DEFINITION = "definition"
    NAME_PARTS = "name"
    FILE_NAME = "file name"
    FOLDER = "folder"
    MENTION = "mentioned"
    FILE_KIND = "kind of file"
    FILE_TOTAL = "file as a whole"
    FURTHER_CHUNK = "further chunk of its file"
    LEARNED = "learned"
    RERANKER = "reranker"
    EXACT = "exact"


@dataclass(frozen=True, slots=True)
class Hit:
    """A ranked chunk with its text; ``score`` is 0..1 and falls from hit to hit."""

    chunk: IndexedChunk
    content: str
    score: float
    freshness: str
    # What the score was made of before it was scaled to 0..1.
    signals: Mapping[Signal, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HitList:
    """The answer to a query: hits, best first, and which words of it to highlight in them."""

    hits: list[Hit]
    highlight_terms: list[str]
    # Whether these are all places of an exact string or an expression: there may be more than were
    # wanted, or too little time to look through a large repository.
    is_complete: bool = True
    # What was not searched, as a sentence.
    gap: str = ""
    # All that was ranked, of which the hits are the first: to count what they have in common.
    ranked: tuple[IndexedChunk, ...] = ()


@dataclass(frozen=True, slots=True)
class EmbeddingConfigStatus:
    """How far one embedding config is; ``seconds_left`` is unknown until it has been running."""

    name: str
    ready: bool
    chunks: int
    waiting: int
    chunks_per_second: float | None
    seconds_left: float | None
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class EndpointAsk:
    """What would be sent of a repository to an endpoint, if a person allows it.

    ``tokens`` and ``cost`` are estimates; a reranker is sent ``chunks`` with each accurate search.
    """

    model: str
    endpoint: str
    chunks: int
    size_bytes: int
    tokens: int
    cost: float | None
    each_search: bool = False


@dataclass(frozen=True, slots=True)
class RepositoryIndexStatus:
    """Counts of what is indexed, what waits, and what stands in the way."""

    state: str
    files: int
    chunks: int
    files_waiting: int
    refused: dict[str, int]
    configs: tuple[EmbeddingConfigStatus, ...] = field(default_factory=tuple)
    watching: str = ""
    trouble: str = ""
    paused: bool = False
    notice: str = ""  # what a person may like to know, and need not act on
    cause: str = ""  # of the trouble, where a program can say more: "full-disk", "damage"


@dataclass(frozen=True, slots=True)
class Repo:
    """A folder the user has registered under the folder's own name.

    ``id`` names its index under userData and is never given to another repository.
    """

    id: int
    name: str
    path: Path
