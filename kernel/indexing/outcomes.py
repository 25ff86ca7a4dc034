"""What came of looking at a path, and how it is written into both indexes at once."""

from collections.abc import Sequence
from dataclasses import dataclass

from kernel.domain.chunk import Chunk
from kernel.domain.courtesy import Pace
from kernel.domain.indexed import IndexedFile, Refused
from kernel.storage.catalogue_batch import Batch, ChunkIds
from kernel.storage.failures import demand_room
from kernel.storage.index_store import IndexStore
from kernel.storage.lexical_schema import LexicalDocument

# So few files have just been saved, and somebody waits for them as for a search.
FILES_IN_A_HURRY = 8


@dataclass(frozen=True, slots=True)
class Touched:
    """A file with a new date and the same content."""

    path: str
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Gone:
    """A file that was indexed, or refused, and is not there any more."""

    path: str


Outcome = IndexedFile | Touched | Refused | Gone


def write(outcomes: Sequence[Outcome], store: IndexStore, pace: Pace) -> list[tuple[int, str]]:
    """Write a batch so that a crash at any moment leaves it whole, absent, or noted as pending.

    Returns id and path of each file that may need vectors. A pause may come in the middle: nobody
    else writes, and those who read see what was before.
    """
    in_a_hurry = len(outcomes) <= FILES_IN_A_HURRY
    with_words = [outcome.path for outcome in outcomes if not isinstance(outcome, Touched)]
    if with_words:
        with store.writing.batch() as batch:
            batch.expect(with_words)
    try:
        with store.writing.batch() as batch:
            files = []
            for outcome in outcomes:
                pace.between_steps(in_a_hurry=in_a_hurry)
                if found := _write(outcome, store, batch):
                    files.append(found)
            if with_words:
                demand_room(store.folder)
                batch.note_lexical_stamp(store.lexical.commit())
                batch.no_longer_pending(with_words)
    except BaseException:
        store.lexical.rollback()
        raise
    return files


def documents(path: str, text: str, chunks: ChunkIds) -> list[LexicalDocument]:
    """The chunks of a file as the lexical index takes them."""
    return [
        LexicalDocument(
            chunk_id=chunk_id,
            body=text[chunk.begin : chunk.end],
            symbols=_names(chunk),
            path=path,
        )
        for chunk_id, chunk in chunks
    ]


def _write(outcome: Outcome, store: IndexStore, batch: Batch) -> tuple[int, str] | None:
    match outcome:
        case IndexedFile():
            file_id, chunks = batch.put_file(outcome)
            store.lexical.replace(outcome.path, documents(outcome.path, outcome.text, chunks))
            return file_id, outcome.path
        case Touched():
            batch.touch(outcome.path, outcome.size, outcome.mtime_ns)
        case Refused():
            batch.refuse(outcome)
            store.lexical.replace(outcome.path, [])
        case Gone():
            batch.remove_file(outcome.path)
            batch.forget_refusal(outcome.path)
            store.lexical.replace(outcome.path, [])
    return None


def _names(chunk: Chunk) -> str:
    return " ".join(dict.fromkeys((*chunk.symbols, *chunk.defines)))
