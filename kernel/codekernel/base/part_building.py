"""Some files of a repository -> rows, file list and term counts: the work of one worker.

Only new objects are written, the rows last: a part is there when its rows are.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from codekernel.base.term_statistics import count_terms, make_term_columns
from codekernel.chunking.chunker import chunk_with_hashes
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import FoundFile, IndexedFile, build_embedding_text
from codekernel.domain.settings import Performance
from codekernel.indexing.chunk_pool import read_changed_file
from codekernel.inference.model_pool import Embedder, ModelPool
from codekernel.sharing.object_store import ObjectStore, StorePlace
from codekernel.storage.base.base_rows import (
    TERMS,
    HalfArray,
    build_rows,
    encode_batches,
    encode_columns,
    make_schema,
)
from codekernel.storage.vectors.in_memory_vectors import round_rows

ROWS_SUFFIX, FILES_SUFFIX, TERMS_SUFFIX = ".rows", ".files", ".terms"

# Of the file list; a file's digest is that of its bytes.
FILE_COLUMNS = ("path", "digest", "chunks")


@dataclass(frozen=True, slots=True)
class PartJob:
    """A part to build; ``name`` is that of its objects, without a suffix."""

    repo: str
    root: Path
    files: tuple[FoundFile, ...]
    name: str
    store: StorePlace
    model: Path
    performance: Performance
    max_chunk_chars: int


@dataclass(frozen=True, slots=True)
class PartCounts:
    """What a part has."""

    files: int
    chunks: int


class PartWorker:
    """Builds parts one after another; keeps its model loaded."""

    def __init__(self, environ: dict[str, str]) -> None:
        self._environ = environ
        self._pool, self._models = ModelPool(), ExitStack()
        self._embedders: dict[Path, Embedder] = {}

    def build(self, job: PartJob) -> PartCounts:
        """Build a part and write it to the store. Raises KernelError."""
        files = chunk_files(job)
        embedder = self._load(job)
        vectors = embed_chunks(embedder, files, job.max_chunk_chars)
        rows = build_rows(job.repo, files, job.max_chunk_chars, vectors)
        statistics = count_terms(rows.column(TERMS).to_pylist())
        file_columns = (
            [file.path for file in files],
            [file.digest for file in files],
            [len(file.chunks_by_size[job.max_chunk_chars]) for file in files],
        )
        store = ObjectStore(job.store, self._environ)
        listed = encode_columns(dict(zip(FILE_COLUMNS, file_columns, strict=True)))
        store.write(job.name + FILES_SUFFIX, listed)
        terms = encode_columns(make_term_columns(statistics))
        store.write(job.name + TERMS_SUFFIX, terms)
        content = encode_batches([rows], make_schema(embedder.dimensions))
        store.write(job.name + ROWS_SUFFIX, content)
        return PartCounts(len(files), rows.num_rows)

    def close(self) -> None:
        """Close the models."""
        self._models.close()

    def _load(self, job: PartJob) -> Embedder:
        if job.model not in self._embedders:
            alone = replace(job.performance, max_threads=1)  # the other cores have workers, too
            acquired = self._pool.acquire_embedder(job.model, alone)
            self._embedders[job.model] = self._models.enter_context(acquired)
        return self._embedders[job.model]


def chunk_files(job: PartJob) -> list[IndexedFile]:
    """Read and chunk the files; those that the index of a member leaves out are left out here."""
    read = (read_changed_file(job.root, found, None) for found in job.files)
    return [
        replace(
            file, chunks_by_size=chunk_with_hashes(file.text, file.language, [job.max_chunk_chars])
        )
        for file in read
        if isinstance(file, IndexedFile) and _is_encodable(file.path)
    ]


def _is_encodable(path: str) -> bool:
    """Return whether a path has no bytes that are no text: the columns of a table have none."""
    return path.encode(errors="replace").decode() == path


def embed_chunks(
    embedder: Embedder, files: Sequence[IndexedFile], max_chunk_chars: int
) -> HalfArray:
    """Return the vector of each chunk; a text that stands in several places is embedded once."""
    texts: dict[int, str] = {}
    keys: list[int] = []
    for file in files:
        for chunk, key in file.chunks_by_size[max_chunk_chars]:
            keys.append(key)
            if key not in texts:
                content = file.text[chunk.begin : chunk.end]
                texts[key] = build_embedding_text(chunk.symbols, content)
    if not texts:
        return np.zeros((0, embedder.dimensions), np.float16)
    vectors = round_rows(embedder.embed_documents(list(texts.values()), CancelToken()))
    places = {key: place for place, key in enumerate(texts)}
    return vectors[[places[key] for key in keys]]
