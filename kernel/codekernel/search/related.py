"""Rank the code that is like a place: nearest by vectors, by shared words while there are none."""

from collections.abc import Callable

from codekernel.domain.index import IndexedChunk, Signal, build_embedding_text
from codekernel.domain.lexical_tokenizer import tokenize_query
from codekernel.errors import WrongParam
from codekernel.search.ranking import RankedChunk
from codekernel.search.retrieval import MAX_RESTRICTED_CANDIDATES, SearchableIndex

# Texts that stand in several places are one vector, and the place itself is left out.
_CANDIDATES_PER_HIT = 2

# Words of a chunk that are searched for while there are no vectors; the first name it.
MAX_RELATED_TERMS = 40


def find_chunk_at(index: SearchableIndex, path: str, line: int) -> IndexedChunk:
    """Return the smallest chunk with a line, from 1. Raises WrongParam."""
    catalog = index.store.catalog
    file_id = catalog.find_files_named({path.rpartition("/")[2]}).get(path)
    if file_id is None:
        raise WrongParam(f"{path} is not in the index")
    chunks = catalog.list_chunks(file_id)
    around = [chunk for chunk in chunks if chunk.begin_line < line <= chunk.end_line]
    if not around:
        raise WrongParam(f"nothing is indexed at line {line} of {path}")
    return min(around, key=lambda chunk: chunk.end_line - chunk.begin_line)


def rank_related(
    index: SearchableIndex,
    path: str,
    line: int,
    limit: int,
    is_readable: Callable[[str], bool] | None = None,
) -> list[RankedChunk]:
    """Return chunks like that at a line, without those that overlap it. Raises WrongParam."""
    if is_readable and not is_readable(path):
        raise WrongParam(f"{path} is not in the index")
    place = find_chunk_at(index, path, line)
    catalog = index.store.catalog
    text = catalog.read_chunk_texts([place.id]).get(place.id, "")
    count = MAX_RESTRICTED_CANDIDATES if is_readable else _CANDIDATES_PER_HIT * limit + 1
    scores: dict[int, float] = {}
    chunks: dict[int, IndexedChunk] = {}
    for vectors in index.vector_indexes:
        nearest = vectors.search(build_embedding_text(place.symbols, text), count)
        by_key = catalog.find_chunks_by_key([key for key, _ in nearest])
        for key, cosine in nearest:
            for chunk in by_key.get(key, ()):
                chunks[chunk.id] = chunk
                scores[chunk.id] = max(cosine, scores.get(chunk.id, 0.0))
    signal = Signal.SEMANTIC
    if not scores:
        signal = Signal.LEXICAL
        terms = tokenize_query(text)[:MAX_RELATED_TERMS]
        scores = dict(index.store.lexical.search(terms, count))
        chunks = catalog.find_chunks(list(scores))
    ranked = [
        RankedChunk(chunk, scores[chunk.id], {signal: scores[chunk.id]})
        for chunk in chunks.values()
        if not _is_overlapping(chunk, place) and (is_readable is None or is_readable(chunk.path))
    ]
    return sorted(ranked, key=lambda each: (-each.score, each.chunk.path, each.chunk.begin_line))


def _is_overlapping(chunk: IndexedChunk, place: IndexedChunk) -> bool:
    is_apart = chunk.end_line <= place.begin_line or chunk.begin_line >= place.end_line
    return chunk.path == place.path and not is_apart
