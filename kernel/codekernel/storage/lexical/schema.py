"""The tantivy schema and tokenizer of the lexical index (body, symbols and path of a chunk).

The BM25 queries built on it.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from codekernel.domain.lexical_tokenizer import TOKENIZER_VERSION, tokenize

if TYPE_CHECKING:
    import tantivy

BODY = "body"

SYMBOLS = "symbols"

PATH = "path"

FIELDS = (BODY, SYMBOLS, PATH)

CHUNK_ID = "chunk_id"

PATH_KEY = "path_key"

# Written into the index with the schema, so that one made by another analysis does not match.
ANALYZER_NAME = f"spread-{TOKENIZER_VERSION}-english"

# Words count, their places do not: no phrase is ever asked for, and positions would cost bytes.
FREQUENCY_INDEX_OPTION = "freq"

PATH_KEY_BYTES = 16


@dataclass(frozen=True, slots=True)
class LexicalDocument:
    """A chunk as it is written: raw texts, which the index takes apart itself."""

    chunk_id: int
    body: str
    symbols: str
    path: str


def build_lexical_schema() -> "tantivy.Schema":
    """What is indexed of a chunk; nothing but its number comes back out."""
    import tantivy  # noqa: PLC0415  # when first needed

    builder = tantivy.SchemaBuilder()
    for field in FIELDS:
        builder.add_text_field(
            field, tokenizer_name=ANALYZER_NAME, index_option=FREQUENCY_INDEX_OPTION
        )
    builder.add_text_field(PATH_KEY, tokenizer_name="raw", index_option="basic")
    builder.add_integer_field(CHUNK_ID, fast=True)
    return builder.build()


def build_analyzer() -> "tantivy.TextAnalyzer":
    """What is left to do with spread words: English endings are cut off, on both sides."""
    import tantivy  # noqa: PLC0415  # when first needed

    words = tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace())
    return words.filter(tantivy.Filter.stemmer("English")).build()


def build_document(document: LexicalDocument, key: str) -> "tantivy.Document":
    """``document`` as tantivy takes it, under the key of its path."""
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
    """All chunks of a file share its path."""
    return tokenize(path)


def hash_path(path: str) -> str:
    """The name under which a path is deleted: exact for any path, also one that is no Unicode."""
    raw = path.encode(errors="surrogatepass")
    return hashlib.blake2b(raw, digest_size=PATH_KEY_BYTES).hexdigest()


if TYPE_CHECKING:
    import tantivy


@dataclass(frozen=True, slots=True)
class FieldWeights:
    """What a match in each field counts for; a field of weight 0 is not searched."""

    body: float = 1.0
    symbols: float = 0.5
    path: float = 1.0

    def by_field(self) -> dict[str, float]:
        """The fields to search and their weights."""
        weights = {BODY: self.body, SYMBOLS: self.symbols, PATH: self.path}
        return {field: weight for field, weight in weights.items() if weight > 0}


def build_any_query(
    schema: "tantivy.Schema", stems: Sequence[str], weights: Mapping[str, float]
) -> "tantivy.Query":
    """Documents with any of the words in any of the fields."""
    from tantivy import Occur, Query  # noqa: PLC0415  # when first needed

    terms: list[tuple[Occur, Query]] = []
    for field, weight in weights.items():
        for stem in stems:
            term = Query.term_query(schema, field, stem, index_option=FREQUENCY_INDEX_OPTION)
            terms.append((Occur.Should, term if weight == 1 else Query.boost_query(term, weight)))
    return Query.boolean_query(terms)


def build_all_query(schema: "tantivy.Schema", stems: Sequence[str], field: str) -> "tantivy.Query":
    """Documents with every one of the words in one field; how well they match does not matter."""
    from tantivy import Occur, Query  # noqa: PLC0415  # when first needed

    return Query.const_score_query(
        Query.boolean_query(
            [
                (
                    Occur.Must,
                    Query.term_query(schema, field, stem, index_option=FREQUENCY_INDEX_OPTION),
                )
                for stem in stems
            ]
        ),
        1.0,
    )
