"""The rows of a base, in Arrow's format: a chunk each, with its text, terms and vector.

``terms`` are the stems that the lexical index keeps of a chunk: of its text, its symbols and its
path, a line each, so that one full-text index serves all three and each can be counted alone.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from codekernel.domain.index import IndexedChunk, IndexedFile
from codekernel.errors import StorageError
from codekernel.storage.catalog.rows import join_names, replace_surrogates, split_names
from codekernel.storage.lexical_documents import build_lexical_documents, stem_text

VECTOR, TERMS, TEXT, REPOSITORY, PATH = "vector", "terms", "text", "repo", "path"

# What a chunk is made of again; the columns of IndexedChunk, and that of its key.
_CHUNK_FIELDS = (
    (REPOSITORY, pa.string()),
    (PATH, pa.string()),
    ("language", pa.string()),
    ("begin_line", pa.int32()),
    ("end_line", pa.int32()),
    ("begin", pa.int32()),
    ("end", pa.int32()),
    ("kind", pa.string()),
    ("symbols", pa.string()),
    ("signature", pa.string()),
    ("defines", pa.string()),
    ("text_hash", pa.int64()),
)

CHUNK_COLUMNS = tuple(name for name, _ in _CHUNK_FIELDS)

_FIELD_SEPARATOR = "\n"

# Parts are read as often as they are written; zstd halves the texts and costs 1 % of embedding.
_COMPRESSION = "zstd"

HalfArray: TypeAlias = npt.NDArray[np.float16]


def make_schema(dimensions: int) -> Any:
    """Return the columns of a base whose vectors have so many dimensions."""
    texts = [(TEXT, pa.string()), (TERMS, pa.string())]
    return pa.schema([*_CHUNK_FIELDS, *texts, (VECTOR, pa.list_(pa.float16(), dimensions))])


def build_rows(
    repo: str, files: Sequence[IndexedFile], max_chunk_chars: int, vectors: HalfArray
) -> Any:
    """Return the chunks of some files, in order; ``vectors`` has a row for each of them."""
    columns: dict[str, list[Any]] = {name: [] for name in (*CHUNK_COLUMNS, TEXT, TERMS)}
    for file in files:
        chunks = file.chunks_by_size[max_chunk_chars]
        documents = build_lexical_documents(file.path, file.text, enumerate(c for c, _ in chunks))
        for (chunk, text_hash), document in zip(chunks, documents, strict=True):
            values = (
                *(repo, file.path, file.language),
                *(chunk.begin_line, chunk.end_line, chunk.begin, chunk.end),
                *(chunk.kind, join_names(chunk.symbols), replace_surrogates(chunk.signature)),
                *(join_names(chunk.defined_names), text_hash),
                replace_surrogates(document.body),
                join_terms(document.body, document.symbols, document.path),
            )
            for column, value in zip(columns.values(), values, strict=True):
                column.append(value)
    schema = make_schema(vectors.shape[1])
    rows = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1])
    return pa.record_batch(
        [*(pa.array(columns[field.name], field.type) for field in list(schema)[:-1]), rows],
        schema=schema,
    )


def join_terms(body: str, symbols: str, path: str) -> str:
    """Return the stems of the three fields of a chunk as one column."""
    return _FIELD_SEPARATOR.join(map(stem_text, (body, symbols, path)))


def split_terms(terms: str) -> list[list[str]]:
    """Return the stems of each field of a chunk: body, symbols, path."""
    return [field.split(" ") if field else [] for field in terms.split(_FIELD_SEPARATOR)]


def parse_chunk(row: Mapping[str, Any], chunk_id: int, max_chunk_chars: int) -> IndexedChunk:
    """Return the chunk of a row that has CHUNK_COLUMNS."""
    return IndexedChunk(
        *(row["begin_line"], row["end_line"], row["begin"], row["end"], row["kind"]),
        *(split_names(row["symbols"]), row["signature"], split_names(row["defines"])),
        id=chunk_id,
        path=row[PATH],
        language=row["language"],
        max_chunk_chars=max_chunk_chars,
        text_hash=row["text_hash"],
    )


def encode_batches(batches: Iterable[Any], schema: Any) -> bytes:
    """Return rows as one object for the store."""
    sink = BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=_COMPRESSION)
    with pa.ipc.new_stream(sink, schema, options=options) as writer:
        for batch in batches:
            writer.write_batch(batch)
    return sink.getvalue()


def decode_batches(content: bytes) -> Iterator[Any]:
    """Yield the rows of such an object. Raises StorageError if it is damaged."""
    try:
        with pa.ipc.open_stream(content) as reader:
            yield from reader
    except pa.ArrowInvalid as error:
        raise StorageError(f"a part of the base is damaged: {error}") from error


def encode_columns(columns: Mapping[str, Sequence[Any]]) -> bytes:
    """Return columns of equal length as one object for the store."""
    batch = pa.record_batch({name: pa.array(values) for name, values in columns.items()})
    return encode_batches([batch], batch.schema)


def decode_columns(content: bytes) -> dict[str, list[Any]]:
    """Return the columns of such an object. Raises StorageError if it is damaged."""
    found: dict[str, list[Any]] = {}
    for batch in decode_batches(content):
        for name in batch.schema.names:
            found.setdefault(name, []).extend(batch.column(name).to_pylist())
    return found
