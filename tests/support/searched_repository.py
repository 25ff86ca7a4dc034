"""A small repository with an index of words alone, for tests of searches."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from codekernel.domain.index import Chunk, IndexedFile, detect_language
from codekernel.domain.lexical_tokenizer import tokenize
from codekernel.search.pipeline import Searcher
from codekernel.search.retrieval import SemanticIndex
from codekernel.storage.index_store import IndexStore, open_index
from codekernel.storage.lexical_documents import LexicalDocument

LENGTH = 1000


@dataclass(frozen=True)
class SmallIndex:
    store: IndexStore
    vector_indexes: Sequence[SemanticIndex] = ()


@contextmanager
def open_searcher(
    root: Path, texts: Mapping[str, str], vectors: Sequence[SemanticIndex] = ()
) -> Iterator[Searcher]:
    """Write and index files, each one chunk whose key is its place in ``texts``."""
    store = open_index(root.with_name(f"{root.name}-index"))
    with store.active_writer.begin_batch() as batch:
        for key, (path, text) in enumerate(texts.items()):
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text, encoding="utf-8")
            chunks = {LENGTH: [(Chunk(0, text.count("\n"), 0, len(text)), key)]}
            language = detect_language(path)
            file = IndexedFile(path, len(text), -1, b"", language, "utf-8", text, chunks)
            ((number, _, _),) = batch.put_file(file)[1].written
            words = LexicalDocument(number, tokenize(text), "", tokenize(path))
            store.lexical.replace(path, [words])
    store.lexical.commit()
    try:
        yield Searcher(root, SmallIndex(store, vectors))
    finally:
        store.close()
