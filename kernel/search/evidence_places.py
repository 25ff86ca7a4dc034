"""What speaks for a chunk because the query names its file, or a line in it."""

from collections.abc import Sequence

from kernel.domain.indexed import IndexedChunk
from kernel.search.query import Query
from kernel.storage.catalogue import Catalogue

# In units of the best score of all. A file that was named beats the definition of a name
# (evidence.DEFINITION, in a file named after it 4.5), and the line in it beats the file.
FILE = 3.0
LINE = 3.0
# A folder that was named, or a file found under a folder of another name.
PARTLY = 1.0
# Each further frame of a trace is a caller, and less likely the cause.
FURTHER_PLACE = 0.85
# A trace through a large framework names many files; those that count come first.
MOST_PLACES = 20
MOST_CHUNKS = 200


def mentioned(query: Query, chunk: IndexedChunk) -> float:
    """How clearly the query names the chunk's file and lines."""
    best = 0.0
    for order, place in enumerate(query.places[:MOST_PLACES]):
        sure = _named(place.path, chunk.path)
        if sure:
            with_line = LINE if sure >= FILE and _holds(chunk, place.line) else 0.0
            best = max(best, (sure + with_line) * FURTHER_PLACE**order)
    return best


def mentioned_chunks(catalogue: Catalogue, query: Query) -> list[IndexedChunk]:
    """Chunks of the files that the query names: at the line if it names one, else all of them.

    Words alone may not bring them among the candidates.
    """
    places = query.places[:MOST_PLACES]
    files = catalogue.files_named({_name(place.path) for place in places}) if places else {}
    found: dict[int, IndexedChunk] = {}
    for path, file_id in files.items():
        lines = [place.line for place in places if _named(place.path, path) >= FILE]
        if not lines:
            continue
        for chunk in catalogue.chunks_of(file_id):
            if None in lines or any(_holds(chunk, line) for line in lines):
                found[chunk.id] = chunk
        if len(found) >= MOST_CHUNKS:
            break
    return list(found.values())[:MOST_CHUNKS]


def _named(named: str, path: str) -> float:
    """How clearly ``named`` is ``path``: the last parts of one are the whole other."""
    wanted, there = named.lower().split("/"), path.lower().split("/")
    shared = _shared_end(wanted, there)
    shorter = min(len(wanted), len(there))
    if shared == shorter:
        return FILE
    if shared:
        return PARTLY * shared / shorter
    folders = there[:-1]
    is_folder = any(
        folders[start : start + len(wanted)] == wanted
        for start in range(len(folders) - len(wanted) + 1)
    )
    return PARTLY if is_folder else 0.0


def _shared_end(wanted: Sequence[str], there: Sequence[str]) -> int:
    """How many parts are the same, counted from the end; the name may lack its extension."""
    if wanted[-1] not in {there[-1], there[-1].rpartition(".")[0]}:
        return 0
    shared = 1
    for one, other in zip(reversed(wanted[:-1]), reversed(there[:-1]), strict=False):
        if one != other:
            break
        shared += 1
    return shared


def _holds(chunk: IndexedChunk, line: int | None) -> bool:
    return line is not None and chunk.chunk.begin_line < line <= chunk.chunk.end_line


def _name(path: str) -> str:
    return path.rpartition("/")[2]
