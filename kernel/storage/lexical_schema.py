"""How a chunk lies in the lexical index: three fields of words, the key of its path, its number."""

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from kernel.domain.terms import ANALYSIS_VERSION, spread

if TYPE_CHECKING:
    import tantivy

BODY = "body"
SYMBOLS = "symbols"
PATH = "path"
FIELDS = (BODY, SYMBOLS, PATH)
CHUNK_ID = "chunk_id"
PATH_KEY = "path_key"

# Written into the index with the schema, so that one made by another analysis does not match.
ANALYZER = f"spread-{ANALYSIS_VERSION}-english"

# Words count, their places do not: no phrase is ever asked for, and positions would cost bytes.
FREQUENCIES = "freq"
PATH_KEY_BYTES = 16


@dataclass(frozen=True, slots=True)
class LexicalDocument:
    """A chunk as it is written: raw texts, which the index takes apart itself."""

    chunk_id: int
    body: str
    symbols: str
    path: str


def schema() -> "tantivy.Schema":
    """What is indexed of a chunk; nothing but its number comes back out."""
    import tantivy  # noqa: PLC0415  # when first needed

    builder = tantivy.SchemaBuilder()
    for field in FIELDS:
        builder.add_text_field(field, tokenizer_name=ANALYZER, index_option=FREQUENCIES)
    builder.add_text_field(PATH_KEY, tokenizer_name="raw", index_option="basic")
    builder.add_integer_field(CHUNK_ID, fast=True)
    return builder.build()


def analyzer() -> "tantivy.TextAnalyzer":
    """What is left to do with spread words: English endings are cut off, on both sides."""
    import tantivy  # noqa: PLC0415  # when first needed

    words = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
    return words.filter(tantivy.Filter.stemmer("English")).build()


def written(document: LexicalDocument, key: str) -> "tantivy.Document":
    """``document`` as tantivy takes it, under the key of its path."""
    import tantivy  # noqa: PLC0415  # when first needed

    entry = tantivy.Document()
    entry.add_integer(CHUNK_ID, document.chunk_id)
    entry.add_text(PATH_KEY, key)
    entry.add_text(BODY, spread(document.body))
    entry.add_text(SYMBOLS, spread(document.symbols))
    entry.add_text(PATH, _spread_path(document.path))
    return entry


@lru_cache(maxsize=64)
def _spread_path(path: str) -> str:
    """All chunks of a file share its path."""
    return spread(path)


def path_key(path: str) -> str:
    """The name under which a path is deleted: exact for any path, also one that is no Unicode."""
    raw = path.encode(errors="surrogatepass")
    return hashlib.blake2b(raw, digest_size=PATH_KEY_BYTES).hexdigest()
