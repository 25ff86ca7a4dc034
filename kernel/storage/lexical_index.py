"""The words of one repository, searchable: a tantivy index in a folder of its own.

One process writes, by one thread at a time; any thread and any other process may search meanwhile.
What is replaced becomes durable and visible with the next commit, and not before.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kernel.errors import StorageError
from kernel.storage import lexical_schema
from kernel.storage.lexical_failures import IndexUnreadable, explained, unreadable
from kernel.storage.lexical_query import FieldWeights, all_of, any_of
from kernel.storage.lexical_schema import BODY, CHUNK_ID, FIELDS, PATH_KEY, LexicalDocument
from kernel.storage.private_folder import make_folders

if TYPE_CHECKING:
    import tantivy

__all__ = ["FieldWeights", "IndexUnreadable", "LexicalDocument", "LexicalIndex"]

# What may wait in memory before it is written out as a segment; 15 MB is the least tantivy takes.
# A process that wrote a million documents with it held 160 MB of its own, from start to end.
WRITER_HEAP_BYTES = 50_000_000
# Taking words apart holds Python's lock and is over a third of the work: more would wait.
WRITER_THREADS = 1

# A person asks with a handful of words; a pasted page must not become a thousand lists to merge.
MOST_TERMS = 64

_META_FILE = "meta.json"
_DEFAULT_WEIGHTS = FieldWeights()


class LexicalIndex:
    """An open index; made by ``open``."""

    def __init__(self, folder: Path, index: "tantivy.Index", *, writable: bool) -> None:
        self._folder = folder
        self._index = index
        self._schema = index.schema
        self._analyzer = lexical_schema.analyzer()
        self._writable = writable
        self._closed = False
        self._writing = threading.Lock()
        self._writer: tantivy.IndexWriter | None = None

    @classmethod
    def open(cls, folder: Path, *, writable: bool) -> "LexicalIndex":
        """Open the index in ``folder``, made if there is none and ``writable``.

        Raises IndexUnreadable if what lies there is damaged or was made by another version.
        """
        import tantivy  # noqa: PLC0415  # when first needed

        with explained(folder):
            if writable:
                make_folders(folder)
            _refuse_remains(folder, writable=writable)
            index = tantivy.Index(lexical_schema.schema(), path=str(folder), reuse=True)
            index.register_tokenizer(lexical_schema.ANALYZER, lexical_schema.analyzer())
            index.config_reader("manual", 0)
        opened = cls(folder, index, writable=writable)
        if writable:
            with opened._changing():
                pass  # the writer's lock is taken now, so that a second kernel hears of it at once
        return opened

    def replace(self, path: str, documents: Sequence[LexicalDocument]) -> None:
        """Forget everything under ``path``, then add ``documents``; seen after ``commit``."""
        key = lexical_schema.path_key(path)
        entries = [lexical_schema.written(document, key) for document in documents]
        with self._changing() as writer:
            writer.delete_documents_by_term(PATH_KEY, key)
            for entry in entries:
                writer.add_document(entry)

    def commit(self) -> int:
        """Make what was replaced durable, and visible to the next search; returns its stamp.

        When it fails, everything since the last commit is forgotten and the index stays usable.
        """
        with self._changing() as writer:
            stamp = writer.commit()
            self._index.reload()
        return stamp

    def rollback(self) -> None:
        """Forget what was replaced since the last commit."""
        with self._writing:
            self._writer = None

    def clear(self) -> None:
        """Forget every document, durably."""
        with self._changing() as writer:
            writer.delete_all_documents()
            writer.commit()
            self._index.reload()

    def compact(self) -> None:
        """Wait for the merges under way, then remove the files that nothing refers to."""
        with self._changing() as writer:
            self._writer = None  # waiting consumes it
            writer.wait_merging_threads()
        with self._changing() as writer:
            self._index.reload()
            writer.garbage_collect_files()

    def search(
        self, terms: Sequence[str], k: int, weights: FieldWeights = _DEFAULT_WEIGHTS
    ) -> list[tuple[int, float]]:
        """The ``k`` best chunks with any of ``terms`` and their BM25 scores, best first."""
        return self._best(self._stems(terms), k, weights.of_fields())

    def search_fields(self, terms: Sequence[str], k: int) -> dict[str, list[tuple[int, float]]]:
        """For each field alone its ``k`` best chunks, with scores that no weight has touched."""
        stems = self._stems(terms)
        return {field: self._best(stems, k, {field: 1.0}) for field in FIELDS}

    def search_all(self, terms: Sequence[str], k: int) -> list[int]:
        """Up to ``k`` chunks whose text has every one of ``terms``, in no order."""
        stems = self._stems(terms)
        if not stems:
            return []
        query = all_of(self._schema, stems, BODY)
        return [number for number, _ in self._answers(query, k)]

    def _stems(self, terms: Sequence[str]) -> list[str]:
        return list(dict.fromkeys(self._analyzer.analyze(" ".join(terms[:MOST_TERMS]))))

    def _best(
        self, stems: Sequence[str], k: int, weights: Mapping[str, float]
    ) -> list[tuple[int, float]]:
        if not stems or not weights:
            return []
        return self._answers(any_of(self._schema, stems, weights), k)

    def _answers(self, query: "tantivy.Query", k: int) -> list[tuple[int, float]]:
        with explained(self._folder):
            if not self._writable:  # another process commits, and only the disk knows
                self._index.reload()
            searcher = self._index.searcher()
            most = min(k, searcher.num_docs)  # room for that many is made beforehand
            if most <= 0:
                return []
            hits = searcher.search(query, most, count=False).hits
            ids = searcher.fast_field_values(CHUNK_ID, [address for _, address in hits])
        if None in ids:
            raise unreadable(self._folder, "numbers of chunks are missing")
        return [(int(number or 0), score) for number, (score, _) in zip(ids, hits, strict=True)]

    @property
    def document_count(self) -> int:
        """How many documents a search looks at now."""
        return self._index.searcher().num_docs

    def close(self) -> None:
        """Let go of the folder; what was not committed is forgotten."""
        with self._writing:
            self._writer = None
            self._writable = False
            self._closed = True

    @contextmanager
    def _changing(self) -> Iterator["tantivy.IndexWriter"]:
        with self._writing:
            if not self._writable:
                state = "closed" if self._closed else "open for reading only"
                raise StorageError(f"The index of words in {self._folder} is {state}.")
            try:
                with explained(self._folder):
                    if self._writer is None:
                        self._writer = self._new_writer()
                    yield self._writer
            except StorageError:
                self._writer = None  # one that met an error is dead; the next change makes another
                raise

    def _new_writer(self) -> "tantivy.IndexWriter":
        writer = self._index.writer(WRITER_HEAP_BYTES, WRITER_THREADS)
        # What a killed or failed writer left must go first: commits are numbered on from the last
        # one that succeeded, and a list of deletions of the same number would be in the way.
        writer.garbage_collect_files()
        return writer


def _refuse_remains(folder: Path, *, writable: bool) -> None:
    if (folder / _META_FILE).exists():
        return
    if not writable:
        raise unreadable(folder, "there is none")
    if any(folder.iterdir()):
        raise unreadable(folder, f"{_META_FILE} is missing")
