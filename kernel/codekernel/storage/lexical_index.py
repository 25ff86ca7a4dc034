"""The lexical (BM25) index of one repository, kept by tantivy.

Its schema, tokenizer and queries; open, search, replace, commit, verify the checksums of its files.
"""

import hashlib
import json
import os
import re
import struct
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

import tantivy
from tantivy import Occur, Query

from codekernel.errors import StorageError
from codekernel.storage.engines import (
    TANTIVY_META_FILE,
    build_lexical_damage,
    translate_tantivy_errors,
)
from codekernel.storage.lexical_documents import (
    ANALYZER_NAME,
    BODY,
    CHUNK_ID,
    FIELD_WEIGHTS,
    FREQUENCY_INDEX_OPTION,
    PATH_KEY,
    PATH_KEY_BYTES,
    LexicalDocument,
    build_document,
    build_lexical_schema,
    load_stemmer,
)
from codekernel.storage.recent_words import NO_RECENT_WORDS, RecentWords, find_average_length
from codekernel.storage.safe_files import explain_os_error, make_private_parents
from codekernel.storage.term_counts import FieldTerm, TermCounts, add_term_counts


def hash_path(path: str) -> str:
    """Return the term under which the documents of a path are deleted; exact for any path."""
    raw = path.encode(errors="surrogatepass")
    return hashlib.blake2b(raw, digest_size=PATH_KEY_BYTES).hexdigest()


# Of what tantivy finds, and of what is made of it.
_get_score, _get_address = itemgetter(0), itemgetter(1)
_get_hit_score = itemgetter(1)

CHECKSUM_READ_BYTES = 1024 * 1024

_SEGMENT_EXTENSIONS = ("idx", "term", "fast", "fieldnorm", "pos", "store")

_OPSTAMP = re.compile(rb'"opstamp": *(\d+)\s*}\s*$')

_FOOTER_MAGIC = 1337

_FOOTER_TAIL = struct.Struct("<II")  # its length, and the number above

MAX_FOOTER_BYTES = 50_000


def verify_lexical(folder: Path, between_steps: Callable[[], None] = lambda: None) -> None:
    """Raise LexicalIndexDamaged for the first file that is not as it was written."""
    try:
        meta = json.loads((folder / TANTIVY_META_FILE).read_bytes())
        for name in _list_segment_files(meta):
            between_steps()
            if not _has_valid_checksum(folder / name, between_steps):
                raise build_lexical_damage(folder, f"{name} differs from its checksum")
    except FileNotFoundError as error:
        raise build_lexical_damage(folder, f"{Path(error.filename).name} is missing") from error
    except OSError as error:
        raise explain_os_error(error, folder) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise build_lexical_damage(folder, f"{TANTIVY_META_FILE} is damaged: {error}") from error


def read_opstamp(folder: Path) -> int | None:
    """Return the number of the last commit; None if it cannot be read."""
    try:
        found = _OPSTAMP.search((folder / TANTIVY_META_FILE).read_bytes())
    except OSError:
        return None
    return int(found[1]) if found else None


def list_lexical_files(folder: Path) -> list[str]:
    """Return the names of the files of the last commit. Raises LexicalIndexDamaged."""
    try:
        meta = json.loads((folder / TANTIVY_META_FILE).read_bytes())
        return [TANTIVY_META_FILE, *_list_segment_files(meta)]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise build_lexical_damage(
            folder, f"{TANTIVY_META_FILE} cannot be read: {error}"
        ) from error


def _list_segment_files(meta: dict[str, Any]) -> Iterator[str]:
    for segment in meta["segments"]:
        name = segment["segment_id"].replace("-", "")
        for part in _SEGMENT_EXTENSIONS:
            yield f"{name}.{part}"
        if segment["deletes"]:
            yield f"{name}.{segment['deletes']['opstamp']}.del"


def _has_valid_checksum(file: Path, between_steps: Callable[[], None]) -> bool:
    with file.open("rb") as content:
        body = content.seek(0, os.SEEK_END) - _FOOTER_TAIL.size
        if body < 0:
            return False
        content.seek(body)
        length, magic = _FOOTER_TAIL.unpack(content.read())
        body -= length
        if magic != _FOOTER_MAGIC or body < 0 or length > MAX_FOOTER_BYTES:
            return False
        content.seek(body)
        footer = json.loads(content.read(length))
        content.seek(0)
        found = 0
        while body > 0 and (step := content.read(min(CHECKSUM_READ_BYTES, body))):
            between_steps()
            found = zlib.crc32(step, found)
            body -= len(step)
    return body == 0 and footer.keys() == {"version", "crc"} and bool(footer["crc"] == found)


_TANTIVY_LOCK_PREFIX = ".tantivy-"


@contextmanager
def open_readable_folder(folder: Path) -> Iterator[Path]:
    """Yield the folder itself if a lock can be taken in it, else one of links. Raises OSError."""
    if _can_create_lock(folder):
        yield folder
        return
    with TemporaryDirectory(prefix="codekernel-", ignore_cleanup_errors=True) as made:
        for file in folder.absolute().iterdir():
            if not file.name.startswith(_TANTIVY_LOCK_PREFIX):
                Path(made, file.name).symlink_to(file)
        yield Path(made)


def _can_create_lock(folder: Path) -> bool:
    lock = folder / f"{_TANTIVY_LOCK_PREFIX}meta.lock"
    try:
        os.close(os.open(lock, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError:
        return False
    return True


# What may wait in memory before it is written out as a segment; 15 MB is the least tantivy takes.
# A process that wrote a million documents with it held 160 MB of its own, from start to end.
WRITER_HEAP_BYTES = 50_000_000

# Tokenizing holds Python's lock and is over a third of the work: more threads would wait.
WRITER_THREADS = 1

# A query has a handful of words; a pasted page must not become a thousand posting lists.
MAX_QUERY_TERMS = 64


def stem_terms(terms: Sequence[str]) -> list[str]:
    """Return the stems of the first terms of a query, each once, in order."""
    return list(dict.fromkeys(load_stemmer().analyze(" ".join(terms[:MAX_QUERY_TERMS]))))


class LexicalIndex:
    """An open index; made by ``open``."""

    def __init__(self, folder: Path, index: tantivy.Index, *, writable: bool) -> None:
        self._folder = folder
        self._index: tantivy.Index | None = index
        self._schema = index.schema
        self._writable = writable
        self._write_lock = threading.Lock()
        self._writer: tantivy.IndexWriter | None = None
        self._recent = NO_RECENT_WORDS

    @classmethod
    def open(cls, folder: Path, *, writable: bool) -> "LexicalIndex":
        """Open the index in ``folder``, made if there is none and ``writable``.

        Raises LexicalIndexDamaged if it is damaged or was made by another version.
        """
        with translate_tantivy_errors(folder):
            if writable:
                make_private_parents(folder)
            _check_meta_file(folder, writable=writable)
            index = tantivy.Index(build_lexical_schema(), path=str(folder), reuse=True)
            # Texts are stemmed when they come here.
            blanks = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()
            index.register_tokenizer(ANALYZER_NAME, blanks)
            index.config_reader("manual", 0)
        opened = cls(folder, index, writable=writable)
        if writable:
            with opened._borrow_writer():
                pass  # acquire the writer's lock now, so that a second kernel fails at once
        return opened

    def replace(self, path: str, documents: Sequence[LexicalDocument]) -> None:
        """Delete everything under ``path``, then add ``documents``; visible after ``commit``."""
        key = hash_path(path)
        entries = [build_document(document, key) for document in documents]
        with self._borrow_writer() as writer:
            writer.delete_documents_by_term(PATH_KEY, key)
            for entry in entries:
                writer.add_document(entry)

    def update(
        self, path: str, removed: Iterable[int], documents: Sequence[LexicalDocument]
    ) -> None:
        """Delete these chunks of ``path``, then add ``documents``; the others stay as they are."""
        key = hash_path(path)
        entries = [build_document(document, key) for document in documents]
        with self._borrow_writer() as writer:
            for chunk_id in removed:
                writer.delete_documents_by_term(CHUNK_ID, chunk_id)
            for entry in entries:
                writer.add_document(entry)

    def show(self, removed: Iterable[int], documents: Sequence[LexicalDocument]) -> bool:
        """Make visible what is committed later; false if it is time for that."""
        self._recent = self._recent.update(removed, documents, self._read_average_length)
        return not self._recent.is_full

    def commit(self) -> int:
        """Make what was replaced durable and visible; return the number of the commit.

        When it fails, everything since the last commit is lost and the index stays usable.
        """
        with self._borrow_writer() as writer:
            stamp = writer.commit()
            self._require_index().reload()
            self._recent = NO_RECENT_WORDS
        return stamp

    def rollback(self) -> None:
        """Discard what was replaced since the last commit."""
        with self._write_lock:
            self._writer = None

    def clear(self) -> None:
        """Delete every document, durably."""
        with self._borrow_writer() as writer:
            writer.delete_all_documents()
            writer.commit()
            self._require_index().reload()
            self._recent = NO_RECENT_WORDS

    def compact(self) -> None:
        """Wait for running merges, then remove unused files."""
        with self._borrow_writer() as writer:
            self._writer = None  # waiting consumes it
            writer.wait_merging_threads()
        with self._borrow_writer() as writer:
            self._require_index().reload()
            writer.garbage_collect_files()

    def search(
        self, terms: Sequence[str], k: int, weights: Mapping[FieldTerm, float] | None = None
    ) -> list[tuple[int, float]]:
        """Return the ``k`` best chunks with any of ``terms`` and their BM25 scores, best first.

        With ``weights`` only the terms that have one count, each so much more.
        """
        found: list[tuple[Occur, Query]] = []
        stems = stem_terms(terms)
        for field, stem in product(FIELD_WEIGHTS, stems):
            weight = FIELD_WEIGHTS[field]
            if weights is not None:
                weight *= weights.get((field, stem), 0.0)
            if weight:
                term = self._match(field, stem)
                boosted = term if weight == 1 else Query.boost_query(term, weight)
                found.append((Occur.Should, boosted))
        if not found:
            return []
        recent, query = self._recent, Query.boolean_query(found)
        if not recent:
            return self._run_query(query, k)
        hits = self._run_query(query, k + len(recent.replaced))
        hits = [hit for hit in hits if not recent.is_hidden(hit[0])]
        hits += recent.score(stems, self._count_stems(stems, recent), weights)
        return sorted(hits, key=_get_hit_score, reverse=True)[:k]

    def search_all(self, terms: Sequence[str], k: int) -> list[int]:
        """Return up to ``k`` chunks whose text has every one of ``terms``, in no order."""
        stems = stem_terms(terms)
        if not stems:
            return []
        every = [(Occur.Must, self._match(BODY, stem)) for stem in stems]
        query = Query.const_score_query(Query.boolean_query(every), 1.0)
        recent = self._recent
        hits = self._run_query(query, k + len(recent.replaced))
        found = [number for number, _ in hits if not recent.is_hidden(number)]
        return [*recent.find_all(stems), *found][:k]

    def count_terms(self, terms: Sequence[str]) -> TermCounts:
        """Return in how many chunks each term stands, by field."""
        return self._count_stems(stem_terms(terms), self._recent)

    def _count_stems(self, stems: Sequence[str], recent: RecentWords) -> TermCounts:
        with translate_tantivy_errors(self._folder):
            searcher = self._require_index().searcher()
            found = product(FIELD_WEIGHTS, stems)
            chunks = {(field, stem): searcher.doc_freq(field, stem) for field, stem in found}
            committed = TermCounts(searcher.num_docs, chunks)
        if not recent:
            return committed
        return add_term_counts(
            [committed, TermCounts(len(recent.chunks), recent.count_terms(stems))]
        )

    def _read_average_length(self, field: str, stems: Iterable[str]) -> float | None:
        with translate_tantivy_errors(self._folder):
            searcher = self._require_index().searcher()
            found = (find_average_length(searcher, self._match(field, stem)) for stem in stems)
            return next(filter(None, found), None)

    def _match(self, field: str, stem: str) -> Query:
        return Query.term_query(self._schema, field, stem, index_option=FREQUENCY_INDEX_OPTION)

    def _run_query(self, query: Query, k: int) -> list[tuple[int, float]]:
        with translate_tantivy_errors(self._folder):
            if not self._writable:  # another process commits, and only the disk knows
                self._require_index().reload()
            searcher = self._require_index().searcher()
            limit = min(k, searcher.num_docs)  # memory for that many is allocated beforehand
            if limit <= 0:
                return []
            hits = searcher.search(query, limit, count=False).hits
            ids = searcher.fast_field_values(CHUNK_ID, list(map(_get_address, hits)))
        if None in ids:
            raise build_lexical_damage(self._folder, "numbers of chunks are missing")
        return list(zip(cast("list[int]", ids), map(_get_score, hits), strict=True))

    @property
    def document_count(self) -> int:
        """Return the number of documents."""
        recent = self._recent
        committed = self._require_index().searcher().num_docs
        return committed - len(recent.replaced) + len(recent.chunks)

    def close(self) -> None:
        """Close the index and free its memory; what was not committed is lost."""
        with self._write_lock:
            self._writer = self._index = None
            self._writable = False

    def _require_index(self) -> tantivy.Index:
        if (index := self._index) is None:
            raise StorageError(f"The index of words in {self._folder} is closed.")
        return index

    @contextmanager
    def _borrow_writer(self) -> Iterator[tantivy.IndexWriter]:
        with self._write_lock:
            if not self._writable:
                state = "open for reading only" if self._index else "closed"
                raise StorageError(f"The index of words in {self._folder} is {state}.")
            try:
                with translate_tantivy_errors(self._folder):
                    if self._writer is None:
                        self._writer = self._new_writer()
                    yield self._writer
            except StorageError:
                self._writer = None  # unusable after an error; the next change makes another
                raise

    def _new_writer(self) -> tantivy.IndexWriter:
        writer = self._require_index().writer(WRITER_HEAP_BYTES, WRITER_THREADS)
        # What a killed or failed writer left must go first: commits are numbered on from the last
        # one that succeeded, and a list of deletions of the same number would be in the way.
        writer.garbage_collect_files()
        return writer


def _check_meta_file(folder: Path, *, writable: bool) -> None:
    if (folder / TANTIVY_META_FILE).exists():
        return
    if not writable:
        raise build_lexical_damage(folder, "there is none")
    if any(folder.iterdir()):
        raise build_lexical_damage(folder, f"{TANTIVY_META_FILE} is missing")
