"""What a search needs of an index, whoever has it: the local stores, or those and a team's base."""

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from codekernel.domain.index import FileRecord, IndexedChunk
from codekernel.storage.term_counts import FieldTerm, TermCounts


class SearchableCatalog(Protocol):
    """Files and chunks; ``Catalog`` says what each method returns."""

    def list_files(self) -> dict[str, FileRecord]:
        """Return every file by its path."""

    def find_files(self, paths: Sequence[str]) -> Mapping[str, FileRecord]:
        """Return those of the paths that are files."""

    def find_files_named(self, names: Collection[str]) -> Mapping[str, int]:
        """Return the ids of the files with one of these names."""

    def find_files_of_chunks(self, ids: Sequence[int]) -> set[int]:
        """Return the ids of the files of these chunks."""

    def find_chunks(self, ids: Sequence[int]) -> dict[int, IndexedChunk]:
        """Return the chunks with these ids."""

    def find_chunks_by_key(self, keys: Sequence[int]) -> dict[int, list[IndexedChunk]]:
        """Return for each key the chunks with that text."""

    def list_chunks(self, file_id: int, max_chunk_chars: int | None = None) -> list[IndexedChunk]:
        """Return the chunks of one file in order."""

    def list_symbol_names(self, limit: int, /) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
        """Return enclosing symbols and defined names."""

    def iterate_documents(
        self, is_wanted: Callable[[str, str], bool], file_ids: Collection[int] | None = None
    ) -> Generator[tuple[int, str, str], None, None]:
        """Yield id, path and text of files."""

    def read_document(self, file_id: int) -> str:
        """Return the text of a file."""

    def read_chunk_texts(self, ids: Sequence[int]) -> dict[int, str]:
        """Return the text of each chunk."""


class SearchableLexical(Protocol):
    """A lexical index; ``LexicalIndex`` says what each method returns."""

    @property
    def document_count(self) -> int:
        """Return the number of chunks."""

    def search(
        self, terms: Sequence[str], k: int, weights: Mapping[FieldTerm, float] | None = None
    ) -> list[tuple[int, float]]:
        """Return the best chunks and their BM25 scores."""

    def search_all(self, terms: Sequence[str], k: int) -> list[int]:
        """Return chunks whose text has every term."""

    def count_terms(self, terms: Sequence[str]) -> TermCounts:
        """Return in how many chunks each term stands, by field."""


class SearchableStore(Protocol):
    """A catalog and a lexical index."""

    @property
    def folder(self) -> Path:
        """Return where the index is, and what was learned about the repository."""

    @property
    def catalog(self) -> SearchableCatalog:
        """Return the files and chunks."""

    @property
    def lexical(self) -> SearchableLexical:
        """Return the lexical index."""
