"""From the text of a file to its chunks, ready for the catalogue."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter

from kernel.chunking import cut
from kernel.domain.chunk import Chunk, embedded_text, text_key
from kernel.domain.indexed import IndexedFile
from kernel.domain.languages import language_of
from kernel.domain.source import FoundFile, SourceText

# A change within one tick of the file system's clock leaves no trace in the date. Linux ticks every
# few milliseconds; FAT and some network drives write even seconds.
TICK_NS = 20_000_000
COARSE_TICK_NS = 2_000_000_000
_SECOND_NS = 1_000_000_000

Cut = list[tuple[Chunk, int]]
# The fields of each chunk and its key, for each length: what another process can hand over cheaply.
PackedCuts = list[list[tuple[object, ...]]]


@dataclass(frozen=True, slots=True)
class UncutFile:
    """A file that has been read and is still to be cut."""

    found: FoundFile
    source: SourceText
    read_at_ns: int

    @property
    def path(self) -> str:
        """Where it stands in the repository."""
        return self.found.path

    @property
    def language(self) -> str:
        """What it is written in."""
        return language_of(self.found.path)


def indexed_file(file: UncutFile, cuts: dict[int, Cut]) -> IndexedFile:
    """A file with its chunks, as the catalogue takes it."""
    return IndexedFile(
        path=file.path,
        size=file.source.size,
        mtime_ns=trusted_mtime(file.source.mtime_ns, file.read_at_ns),
        digest=file.source.digest,
        language=file.language,
        encoding=file.source.encoding,
        text=file.source.text,
        cuts=cuts,
    )


def cuts_of(text: str, language: str, input_lengths: Sequence[int]) -> dict[int, Cut]:
    """For each input length the chunks of a text and their keys."""
    found = cut(text, language, input_lengths)
    return {
        length: [
            (chunk, text_key(embedded_text(chunk.symbols, text[chunk.begin : chunk.end])))
            for chunk in chunks
        ]
        for length, chunks in zip(input_lengths, found, strict=True)
    }


_fields = attrgetter(*Chunk.__slots__)


def packed_cuts(text: str, language: str, input_lengths: Sequence[int]) -> PackedCuts:
    """The same as plain tuples."""
    cuts = cuts_of(text, language, input_lengths)
    return [
        [
            (*(getattr(chunk, field) for field in Chunk.__slots__), key)
            for chunk, key in cuts[length]
        ]
        for length in input_lengths
    ]


def unpacked_cuts(packed: PackedCuts, input_lengths: Sequence[int]) -> dict[int, Cut]:
    """What ``packed_cuts`` packed."""
    return {
        length: [(Chunk(*fields), key) for *fields, key in chunks]  # type: ignore[misc, arg-type]
        for length, chunks in zip(input_lengths, packed, strict=True)
    }


def trusted_mtime(mtime_ns: int, read_at_ns: int) -> int:
    """The date to compare with next time; -1 if the file could have changed again unseen."""
    tick = COARSE_TICK_NS if mtime_ns % _SECOND_NS == 0 else TICK_NS
    return mtime_ns if mtime_ns + tick < read_at_ns else -1


def now_ns() -> int:
    """The clock that files are dated by."""
    return time.time_ns()
