"""Chunk the text of a file and hash the embedded text of each chunk.

Run as a module, the child process that does so: jobs on stdin, chunks on stdout, started by
chunk_pool.py because parsing holds the GIL. The child exits with its stdin, or when idle.
"""

import os
import pickle
import queue
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import BinaryIO

from codekernel.chunking.chunker import chunk_text
from codekernel.domain.child_process import open_reply_stream
from codekernel.domain.index import Chunk, IndexedFile, build_embedding_text, hash_text
from codekernel.domain.source_files import FoundFile, SourceText, detect_language

# A change within one tick of the file system's clock leaves no trace in the date. Linux ticks every
# few milliseconds; FAT and some network drives write even seconds.
MTIME_TICK_NS = 20_000_000

COARSE_MTIME_TICK_NS = 2_000_000_000

_SECOND_NS = 1_000_000_000

HashedChunks = list[tuple[Chunk, int]]

# The fields of each chunk and its hash, for each chunk size: cheap to send between processes.
PackedChunks = list[list[tuple[object, ...]]]


@dataclass(frozen=True, slots=True)
class UnchunkedFile:
    """A file that has been read and not chunked."""

    found: FoundFile
    source: SourceText
    read_at_ns: int

    @property
    def path(self) -> str:
        """The path in the repository."""
        return self.found.path

    @property
    def language(self) -> str:
        """The programming language."""
        return detect_language(self.found.path)


def build_indexed_file(file: UnchunkedFile, chunks_by_size: dict[int, HashedChunks]) -> IndexedFile:
    """Return a file with its chunks, as the catalog takes it."""
    return IndexedFile(
        path=file.path,
        size=file.source.size,
        mtime_ns=choose_trusted_mtime(file.source.mtime_ns, file.read_at_ns),
        digest=file.source.digest,
        language=file.language,
        encoding=file.source.encoding,
        text=file.source.text,
        chunks_by_size=chunks_by_size,
    )


def chunk_with_hashes(
    text: str, language: str, chunk_sizes: Sequence[int]
) -> dict[int, HashedChunks]:
    """Return the chunks of a text and their hashes, for each chunk size."""
    found = chunk_text(text, language, chunk_sizes)
    return {
        size: [
            (chunk, hash_text(build_embedding_text(chunk.symbols, text[chunk.begin : chunk.end])))
            for chunk in chunks
        ]
        for size, chunks in zip(chunk_sizes, found, strict=True)
    }


_get_fields = attrgetter(*Chunk.__slots__)


def chunk_packed(text: str, language: str, chunk_sizes: Sequence[int]) -> PackedChunks:
    """Return the same as plain tuples."""
    chunks_by_size = chunk_with_hashes(text, language, chunk_sizes)
    return [
        [(*_get_fields(chunk), text_hash) for chunk, text_hash in chunks_by_size[size]]
        for size in chunk_sizes
    ]


def unpack_chunks(packed: PackedChunks, chunk_sizes: Sequence[int]) -> dict[int, HashedChunks]:
    """Return what ``chunk_packed`` packed."""
    return {
        size: [(Chunk(*fields), text_hash) for *fields, text_hash in chunks]  # type: ignore[misc, arg-type]
        for size, chunks in zip(chunk_sizes, packed, strict=True)
    }


def choose_trusted_mtime(mtime_ns: int, read_at_ns: int) -> int:
    """Return the time to compare with next time; -1 if a later change could have the same one."""
    tick = COARSE_MTIME_TICK_NS if mtime_ns % _SECOND_NS == 0 else MTIME_TICK_NS
    return mtime_ns if mtime_ns + tick < read_at_ns else -1


def read_clock_ns() -> int:
    """Return the time of the clock that dates files."""
    return time.time_ns()


# So that opening several repositories in a row does not start a process for each.
IDLE_TIMEOUT_SECONDS = 20.0

ChunkJob = tuple[int, str, str, tuple[int, ...]]


def main() -> None:
    """Chunk texts until none come."""
    jobs: queue.SimpleQueue[ChunkJob] = queue.SimpleQueue()
    replies = open_reply_stream()
    # Read on a thread of its own, so that whoever writes jobs never waits for the cutting.
    threading.Thread(target=_read_jobs, args=(sys.stdin.buffer, jobs), daemon=True).start()
    _send_reply(replies, None)
    while True:
        try:
            number, text, language, lengths = jobs.get(timeout=IDLE_TIMEOUT_SECONDS)
        except queue.Empty:
            os._exit(0)  # without waiting for the thread that waits for stdin
        _send_reply(replies, (number, chunk_packed(text, language, lengths)))


def _read_jobs(source: BinaryIO, jobs: "queue.SimpleQueue[ChunkJob]") -> None:
    while True:
        try:
            jobs.put(pickle.load(source))  # noqa: S301 - written by the process that started us
        except (EOFError, pickle.UnpicklingError):
            os._exit(0)  # the process that started this one is gone


def _send_reply(replies: BinaryIO, reply: object) -> None:
    try:
        pickle.dump(reply, replies, protocol=pickle.HIGHEST_PROTOCOL)
        replies.flush()
    except BrokenPipeError:
        os._exit(0)


if __name__ == "__main__":
    main()
