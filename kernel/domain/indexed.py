"""What the index remembers of a file and of its chunks."""

from dataclasses import dataclass

from kernel.domain.chunk import Chunk, symbol_path


@dataclass(frozen=True, slots=True)
class KnownFile:
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
    cuts: dict[int, list[tuple[Chunk, int]]]


@dataclass(frozen=True, slots=True)
class IndexedChunk:
    """A chunk in the catalogue; ``id`` stays the same for as long as its text does."""

    id: int
    path: str
    language: str
    input_length: int
    key: int
    chunk: Chunk


@dataclass(frozen=True, slots=True)
class Refused:
    """A file that is not indexed and why; size and time tell whether to look again."""

    path: str
    reason: str
    detail: str
    size: int
    mtime_ns: int


def metadata_of(path: str, chunk: Chunk) -> str:
    """Where a chunk stands, for a person: its file, the names around it, its signature."""
    lines = [f" <FilePath> {path}", f"<Path> {symbol_path(chunk.symbols) or 'plainText'}"]
    if chunk.signature:
        lines.append(f"<Signature> {chunk.signature}")
    return "\n".join(lines) + "\n"
