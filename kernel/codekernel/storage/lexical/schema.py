"""The tantivy schema and tokenizer of the lexical index, and the BM25 queries built on it."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from codekernel.domain.lexical_tokenizer import TOKENIZER_VERSION, tokenize

if TYPE_CHECKING:
    import tantivy

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


@dataclass(frozen=True, slots=True)
class LexicalDocument:
    """A chunk as it is written: raw texts, which the index tokenizes."""

    chunk_id: int
    body: str
    symbols: str
    path: str


def build_lexical_schema() -> "tantivy.Schema":
    """Return the schema; only the id of a chunk is stored."""
    import tantivy  # noqa: PLC0415  # when first needed

    builder = tantivy.SchemaBuilder()
    for field in FIELD_WEIGHTS:
        builder.add_text_field(
            field, tokenizer_name=ANALYZER_NAME, index_option=FREQUENCY_INDEX_OPTION
        )
    builder.add_text_field(PATH_KEY, tokenizer_name="raw", index_option="basic")
    builder.add_integer_field(CHUNK_ID, fast=True)
    return builder.build()


def build_analyzer() -> "tantivy.TextAnalyzer":
    """Return the analyzer of tokenized text: split at spaces, and stem English words."""
    import tantivy  # noqa: PLC0415  # when first needed

    words = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
    return words.filter(tantivy.Filter.stemmer("English")).build()


def build_document(document: LexicalDocument, key: str) -> "tantivy.Document":
    """Return a document of tantivy, under the hash of its path."""
    import tantivy  # noqa: PLC0415  # when first needed

    entry = tantivy.Document()
    entry.add_integer(CHUNK_ID, document.chunk_id)
    entry.add_text(PATH_KEY, key)
    entry.add_text(BODY, tokenize(document.body))
    entry.add_text(SYMBOLS, tokenize(document.symbols))
    entry.add_text(PATH, _tokenize_path(document.path))
    return entry


@lru_cache(maxsize=64)
def _tokenize_path(path: str) -> str:
    """Tokenize a path, which all chunks of a file share."""
    return tokenize(path)


def hash_path(path: str) -> str:
    """Return the term under which the documents of a path are deleted; exact for any path."""
    raw = path.encode(errors="surrogatepass")
    return hashlib.blake2b(raw, digest_size=PATH_KEY_BYTES).hexdigest()


def build_any_query(schema: "tantivy.Schema", stems: Sequence[str]) -> "tantivy.Query":
    """Return a query for documents with any of the words in any of the fields."""
    from tantivy import Occur, Query  # noqa: PLC0415  # when first needed

    terms: list[tuple[Occur, Query]] = []
    for field, weight in FIELD_WEIGHTS.items():
        for stem in stems:
            term = Query.term_query(schema, field, stem, index_option=FREQUENCY_INDEX_OPTION)
            terms.append((Occur.Should, term if weight == 1 else Query.boost_query(term, weight)))
    return Query.boolean_query(terms)


def build_all_query(schema: "tantivy.Schema", stems: Sequence[str]) -> "tantivy.Query":
    """Return a query for documents with every one of the words in the body, without scores."""
    from tantivy import Occur, Query  # noqa: PLC0415  # when first needed

    terms = [
        (Occur.Must, Query.term_query(schema, BODY, stem, index_option=FREQUENCY_INDEX_OPTION))
        for stem in stems
    ]
    return Query.const_score_query(Query.boolean_query(terms), 1.0)
