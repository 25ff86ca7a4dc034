"""What speaks for a chunk besides its words and its meaning: names and paths. Pure functions.

Each answers with a number that is added to the chunk's score, in units of the best score of all.
The constants were set on the 32 repositories of the retrieval benchmark by ``scripts/bench.py
quality``; docs/search.md has the table of what each is worth.
"""

import math
from functools import lru_cache
from typing import NamedTuple

from kernel.domain.chunk import Chunk
from kernel.domain.terms import query_terms
from kernel.search.places import Place
from kernel.search.query import Query
from kernel.search.stems import stem

# The definition of the very name that was asked for beats everything else.
DEFINITION = 3.0
# The same name in other capitals may be another thing: a module and a parameter.
DEFINITION_IN_OTHER_CAPITALS = 2.0
# A file that is named after what it defines is where people expect the definition.
NAMED_FILE_FACTOR = 1.5
# A name inside a sentence may be an example of what is looked for.
NAME_IN_PROSE = 0.5
# Words of the sentence that are the parts of a defined name: "parse the header", parse_header.
NAMING = 1.0
FILE_NAME = 1.0
FOLDER = 0.3

_NAMES_LOOKED_AT = 12
_NAMES_REMEMBERED = 65_536
_CHUNKS_REMEMBERED = 16_384


def of_names(query: Query, chunk: Chunk, place: Place) -> tuple[tuple[str, float], ...]:
    """What the names that a chunk defines say for it, by the names of the signals."""
    if query.symbol:
        return (("definition", definition(query, chunk, place)),)
    found: tuple[tuple[str, float], ...] = ()
    if not query.names.isdisjoint(chunk.defines):
        found = (("definition", definition(query, chunk, place)),)
    if not query.stems.isdisjoint(_parts_of_names(chunk.defines).all):
        found += (("name", naming(query, chunk)),)
    return found


def definition(query: Query, chunk: Chunk, place: Place) -> float:
    """Whether the chunk defines a name that the query mentions."""
    if not query.symbol:
        return NAME_IN_PROSE * sum(name in query.names for name in chunk.defines)
    names, in_small_letters = _last_parts(chunk.defines)
    if query.symbol in names:
        in_named_file = stem(query.symbol.lower()) in place.name_words
        return DEFINITION * (NAMED_FILE_FACTOR if in_named_file else 1.0)
    if query.symbol.lower() in in_small_letters:
        return DEFINITION_IN_OTHER_CAPITALS
    return 0.0


def naming(query: Query, chunk: Chunk) -> float:
    """How well the best of the defined names is made of the query's words."""
    if query.symbol or not query.stems:
        return 0.0
    best = 0.0
    for parts in _parts_of_names(chunk.defines).each:
        shared = len(parts & query.stems)
        if shared:
            best = max(best, shared / len(parts) * shared / len(query.stems))
    return NAMING * best


def file_name(query: Query, place: Place) -> float:
    """How well the file's name is made of the query's words."""
    if query.symbol or not query.stems:
        return 0.0
    shared = len(place.name_words & query.stems)
    if not shared:
        return 0.0
    return FILE_NAME * shared / len(place.name_words) * math.sqrt(shared / len(query.stems))


def folder(query: Query, place: Place) -> float:
    """How many of the query's words name a folder around the file."""
    if not query.stems:
        return 0.0
    shared = len((place.folder_words - place.name_words) & query.stems)
    return FOLDER * shared / len(query.stems)


def _last(name: str) -> str:
    """The last part of a qualified name: ``Router`` of ``Phoenix.Router``."""
    return name.rpartition(".")[2].rpartition("::")[2] or name


@lru_cache(_NAMES_REMEMBERED)
def _parts(name: str) -> frozenset[str]:
    return frozenset(map(stem, query_terms(name)))


class _Parts(NamedTuple):
    """The parts of the names that a chunk defines: together, and those of each."""

    all: frozenset[str]
    each: tuple[frozenset[str], ...]


@lru_cache(_CHUNKS_REMEMBERED)
def _parts_of_names(defines: tuple[str, ...]) -> _Parts:
    each = tuple(map(_parts, defines[:_NAMES_LOOKED_AT]))
    return _Parts(frozenset().union(*each), each)


@lru_cache(_CHUNKS_REMEMBERED)
def _last_parts(defines: tuple[str, ...]) -> tuple[frozenset[str], frozenset[str]]:
    """The last parts of the names that a chunk defines, as they are and in small letters."""
    names = frozenset(map(_last, defines))
    return names, frozenset(name.lower() for name in names)
