"""The child process that chunks and stems: requests on stdin, chunks and stems on stdout.

Started by chunk_pool.py because parsing and stemming hold the GIL. It
exits with its stdin, or when idle.
"""

import os
import queue
import threading
from operator import attrgetter

from codekernel.chunking.chunker import ChunksBySize, chunk_with_hashes
from codekernel.domain.child_process import open_reply_stream
from codekernel.domain.child_requests import read_requests, send_reply
from codekernel.domain.index import Chunk
from codekernel.domain.memory import freeze_imported_objects, raise_gc_thresholds
from codekernel.storage.lexical_documents import stem_text

# ChunksBySize as plain tuples of the fields and the hash: cheap to send between processes.
PackedChunks = dict[int, list[tuple[object, ...]]]

# A text, its language, the chunk sizes, and the hashes whose words the index has already.
ChunkRequest = tuple[str, str, tuple[int, ...], frozenset[int]]

# The chunks, and the stems of the other texts by their hashes.
ChunkReply = tuple[PackedChunks, dict[int, str]]

# So that opening several repositories in a row does not start a process for each.
IDLE_TIMEOUT_SECONDS = 20.0

_get_fields = attrgetter(*Chunk.__slots__)


def unpack_chunks(packed: PackedChunks) -> ChunksBySize:
    """Return the chunks that a child process has packed."""
    return {
        size: [(Chunk(*fields), text_hash) for *fields, text_hash in chunks]  # type: ignore[misc, arg-type]
        for size, chunks in packed.items()
    }


def main() -> None:
    """Chunk texts until none come."""
    requests: queue.SimpleQueue[ChunkRequest] = queue.SimpleQueue()
    replies = open_reply_stream()
    # Read on a thread of its own, so that whoever writes requests never waits for the chunking.
    threading.Thread(target=read_requests, args=(requests,), daemon=True).start()
    send_reply(replies, None)
    freeze_imported_objects()
    raise_gc_thresholds()
    while True:
        try:
            request = requests.get(timeout=IDLE_TIMEOUT_SECONDS)
        except queue.Empty:
            os._exit(0)  # without waiting for the thread that waits for stdin
        send_reply(replies, _chunk_and_stem(*request))


def _chunk_and_stem(
    text: str, language: str, chunk_sizes: tuple[int, ...], known_hashes: frozenset[int]
) -> ChunkReply:
    packed: PackedChunks = {}
    stems: dict[int, str] = {}
    for size, chunks in chunk_with_hashes(text, language, chunk_sizes).items():
        packed[size] = [(*_get_fields(chunk), text_hash) for chunk, text_hash in chunks]
        for chunk, text_hash in chunks:
            if text_hash not in known_hashes and text_hash not in stems:
                stems[text_hash] = stem_text(text[chunk.begin : chunk.end])
    return packed, stems


if __name__ == "__main__":
    main()
