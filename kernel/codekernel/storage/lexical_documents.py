"""What the lexical index keeps of a chunk: stems, its fields and their weights, its schema."""

from collections.abc import Iterable
from functools import cache, lru_cache
from typing import NamedTuple

import tantivy

from codekernel.domain.index import Chunk
from codekernel.domain.lexical_tokenizer import (
    MAX_WORD_CHARS,
    TOKENIZER_VERSION,
    split_words,
    tokenize_word,
)


@cache
def load_stemmer() -> tantivy.TextAnalyzer:
    """Return the analyzer of terms: split at spaces, and stem English words."""
    words = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
    return words.filter(tantivy.Filter.stemmer("English")).build()


def stem_word(word: str) -> str:
    """Return the stem under which the index keeps a term."""
    return next(iter(load_stemmer().analyze(word)), word)


# 91 % of the words of the benchmark's repositories, their files shuffled, are among so many, which
# take 5 MB. A lookup costs a tenth of a microsecond; a split and its stems cost two to three.
STEM_CACHE_SIZE = 32_768


class _StemCache(dict[str, str]):
    """Stems by word: code repeats its words, so nearly all are looked up in C.

    Stemming each word of a text again would take tantivy two fifths of its time.
    """

    def __missing__(self, word: str) -> str:
        if word.isdecimal() and word.isascii() and len(word) <= MAX_WORD_CHARS:
            return word  # a number is its own stem, and numbers would push out the words
        stems = " ".join(load_stemmer().analyze(tokenize_word(word)))
        if len(word) <= MAX_WORD_CHARS:
            if len(self) >= STEM_CACHE_SIZE:
                self.clear()
            self[word] = stems
        return stems


_stem_cache = _StemCache()


def stem_text(text: str) -> str:
    """Return the stems of a text as the index keeps them, separated by blanks."""
    return " ".join(map(_stem_cache.__getitem__, split_words(text)))


BODY = "body"

SYMBOLS = "symbols"

PATH = "path"

# What a match in each field counts for.
FIELD_WEIGHTS = {BODY: 1.0, SYMBOLS: 0.5, PATH: 1.0}

CHUNK_ID = "chunk_id"

PATH_KEY = "path_key"

# Part of the schema on disk, so that an index made by another tokenizer does not match.
ANALYZER_NAME = f"spread-{TOKENIZER_VERSION}-english"

# Frequencies without positions: there are no phrase queries, and positions would cost bytes.
FREQUENCY_INDEX_OPTION = "freq"

PATH_KEY_BYTES = 16


class LexicalDocument(NamedTuple):
    """A chunk as it is written: raw texts, which the index tokenizes."""

    chunk_id: int
    body: str
    symbols: str
    path: str
    # What ``stem_text`` makes of the body, if another process has done that already.
    body_stems: str | None = None


def build_lexical_document(
    path: str, text: str, chunk_id: int, chunk: Chunk, body_stems: str | None = None
) -> LexicalDocument:
    """Return a chunk of a file as a document."""
    return LexicalDocument(
        chunk_id=chunk_id,
        body=text[chunk.begin : chunk.end],
        symbols=" ".join(dict.fromkeys((*chunk.symbols, *chunk.defined_names))),
        path=path,
        body_stems=body_stems,
    )


def build_lexical_documents(
    path: str, text: str, chunks: Iterable[tuple[int, Chunk]]
) -> list[LexicalDocument]:
    """Return the chunks of a file, each with its id, as documents."""
    return [build_lexical_document(path, text, chunk_id, chunk) for chunk_id, chunk in chunks]


def build_lexical_schema() -> tantivy.Schema:
    """Return the schema; only the id of a chunk is kept, and deletes its document."""
    builder = tantivy.SchemaBuilder()
    for field in FIELD_WEIGHTS:
        builder.add_text_field(
            field, tokenizer_name=ANALYZER_NAME, index_option=FREQUENCY_INDEX_OPTION
        )
    builder.add_text_field(PATH_KEY, tokenizer_name="raw", index_option="basic")
    builder.add_integer_field(CHUNK_ID, fast=True, indexed=True)
    return builder.build()


def build_document(document: LexicalDocument, key: str) -> tantivy.Document:
    """Return a document of tantivy, under the hash of its path."""
    entry = tantivy.Document()
    entry.add_integer(CHUNK_ID, document.chunk_id)
    entry.add_text(PATH_KEY, key)
    for field, stems in stem_document(document).items():
        entry.add_text(field, stems)
    return entry


def stem_document(document: LexicalDocument) -> dict[str, str]:
    """Return the stems of each field, separated by blanks."""
    stems = document.body_stems
    return {
        BODY: stem_text(document.body) if stems is None else stems,
        SYMBOLS: stem_text(document.symbols),
        PATH: _stem_path(document.path),
    }


# All chunks of a file share its path.
_stem_path = lru_cache(maxsize=64)(stem_text)
