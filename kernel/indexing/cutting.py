"""From the text of a file to its chunks, ready for the catalogue."""

import time
from collections.abc import Sequence

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


def indexed_file(
    found: FoundFile, source: SourceText, input_lengths: Sequence[int], read_at_ns: int
) -> IndexedFile:
    """Cut a file for every input length."""
    language = language_of(found.path)
    return IndexedFile(
        path=found.path,
        size=source.size,
        mtime_ns=trusted_mtime(source.mtime_ns, read_at_ns),
        digest=source.digest,
        language=language,
        encoding=source.encoding,
        text=source.text,
        cuts=cuts_of(source.text, language, input_lengths),
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


def trusted_mtime(mtime_ns: int, read_at_ns: int) -> int:
    """The date to compare with next time; -1 if the file could have changed again unseen."""
    tick = COARSE_TICK_NS if mtime_ns % _SECOND_NS == 0 else TICK_NS
    return mtime_ns if mtime_ns + tick < read_at_ns else -1


def now_ns() -> int:
    """The clock that files are dated by."""
    return time.time_ns()
