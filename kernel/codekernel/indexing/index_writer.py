"""What becomes of a file (indexed, touched, skipped, removed), and writing a batch of outcomes.

The lexical index is committed before the catalog, so a crash loses nothing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from codekernel.domain.concurrency import WorkControl
from codekernel.domain.index import Chunk, IndexedFile, SkippedFileRecord
from codekernel.storage.catalog.writer import CatalogBatch, ChunkIds
from codekernel.storage.index_store import IndexStore
from codekernel.storage.lexical.schema import LexicalDocument
from codekernel.storage.os_errors import require_disk_space

# A batch this small has just been saved, and is waited for like a search.
MAX_URGENT_FILES = 8


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


FileOutcome = IndexedFile | TouchedFile | SkippedFileRecord | RemovedFile


def write_outcomes(
    outcomes: Sequence[FileOutcome], store: IndexStore, control: WorkControl
) -> list[tuple[int, str]]:
    """Write a batch so that a crash at any moment leaves it complete, absent, or marked pending.

    Returns id and path of each file that may need vectors. A pause may come in the middle: there is
    no other writer, and readers see what was before.
    """
    is_urgent = len(outcomes) <= MAX_URGENT_FILES
    pending = [outcome.path for outcome in outcomes if not isinstance(outcome, TouchedFile)]
    if pending:
        with store.active_writer.begin_batch() as batch:
            batch.mark_pending(pending)
    try:
        with store.active_writer.begin_batch() as batch:
            files = []
            for outcome in outcomes:
                control.wait_between_steps(is_urgent=is_urgent)
                if found := _write_outcome(outcome, store, batch):
                    files.append(found)
            if pending:
                require_disk_space(store.folder)
                batch.set_lexical_opstamp(store.lexical.commit())
                batch.clear_pending(pending)
    except BaseException:
        store.lexical.rollback()
        raise
    return files


def build_lexical_documents(path: str, text: str, chunks: ChunkIds) -> list[LexicalDocument]:
    """Return the chunks of a file as documents of the lexical index."""
    return [
        LexicalDocument(
            chunk_id=chunk_id,
            body=text[chunk.begin : chunk.end],
            symbols=_join_names(chunk),
            path=path,
        )
        for chunk_id, chunk in chunks
    ]


def _write_outcome(
    outcome: FileOutcome, store: IndexStore, batch: CatalogBatch
) -> tuple[int, str] | None:
    match outcome:
        case IndexedFile():
            file_id, chunks = batch.put_file(outcome)
            store.lexical.replace(
                outcome.path, build_lexical_documents(outcome.path, outcome.text, chunks)
            )
            return file_id, outcome.path
        case TouchedFile():
            batch.touch_file(outcome.path, outcome.size, outcome.mtime_ns)
        case SkippedFileRecord():
            batch.put_skipped(outcome)
            store.lexical.replace(outcome.path, [])
        case RemovedFile():
            batch.remove_file(outcome.path)
            batch.delete_skipped(outcome.path)
            store.lexical.replace(outcome.path, [])
    return None


def _join_names(chunk: Chunk) -> str:
    return " ".join(dict.fromkeys((*chunk.symbols, *chunk.defined_names)))
