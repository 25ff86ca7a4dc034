"""Boosts and penalties besides lexical and semantic scores.

Defined names, file and folder names, files and lines that the query mentions, and the kind of
file (test, example, documentation, data). Boosts are in units of the best fused score; the
constants were set on the 32 repositories of the retrieval benchmark with scripts/bench.py
quality.
"""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from codekernel.domain.index import Chunk, IndexedChunk
from codekernel.domain.lexical_tokenizer import tokenize_query
from codekernel.search.query_parser import Query
from codekernel.search.stopwords import stem
from codekernel.storage.catalog.catalog import Catalog

# Names of the nearest folders; those above say the same of every file.
_MAX_FOLDERS = 3

_PATH_CACHE_SIZE = 65_536

_FOLDER_CACHE_SIZE = 16_384

_TEST_PATH = re.compile(
    r"(?:^|/)(?:tests?|__tests__|spec|specs|testing|testdata|test_?fixtures?|fixtures|e2e|benches"
    r"|benchmarks?|bench|mocks?)(?:/|$)"
    r"|(?:^|/)(?:test_[^/]*|[^/]*[_.-](?:test|tests|spec|bench)\.[a-z]+"
    r"|[^/]*(?:Tests?|Spec|TestCase|IT)\.(?:java|kt|scala|cs|swift|php)|conftest\.py)$"
)

_EXAMPLE_PATH = re.compile(
    r"(?:^|/)(?:examples?|samples?|demos?|docs_src|playground|tutorials?|_examples)(?:/|$)"
)

_DOCUMENTATION_PATH = re.compile(
    r"(?:^|/)(?:docs?|documentation|website|changelogs?|site)(?:/|$)|\.(?:md|rst|mdx|txt|adoc)$"
)

_DATA_PATH = re.compile(
    r"\.(?:json|ya?ml|toml|lock|cfg|ini|xml|csv|css|scss|html?|svg|properties|gradle|kts|sbt|cmake"
    r"|csproj|sln|bazel|bzl|mk|am|in|m4)$"
    r"|(?:^|/)(?:CMakeLists\.txt|Makefile|BUILD|Dockerfile)[^/]*$"
)

_VENDORED_PATH = re.compile(
    r"(?:^|/)(?:compat|_compat|legacy|deprecated|vendor|third_party|_vendor)(?:/|\.|$)"
)

_DECLARATION_PATH = re.compile(r"\.d\.[cm]?ts$")

# What is left of a score there. Each was tried at .15, .3, .6 and 1 on the benchmark: without the
# one for tests .864 instead of .873, for prose .868; the others hardly matter there, and keep a
# repository full of examples usable. Re-exports (__init__.py, index.ts) are not held back: .879
# instead of .873.
_TEST_FILE_FACTOR = 0.3

_FILE_KIND_FACTORS: tuple[tuple[re.Pattern[str], float, str], ...] = (
    (_EXAMPLE_PATH, 0.5, "example"),
    (_DOCUMENTATION_PATH, 0.5, "documentation"),
    (_DATA_PATH, 0.6, "data"),
    (_VENDORED_PATH, 0.7, "vendored or kept for compatibility"),
    (_DECLARATION_PATH, 0.7, "declarations"),
)


@dataclass(frozen=True, slots=True)
class FileKind:
    """A path as ranking sees it."""

    name_stems: frozenset[str]
    folder_stems: frozenset[str]
    is_test: bool
    # What is left of a score, tests aside, and why.
    base_factor: float
    labels: tuple[str, ...]

    def get_score_factor(self, *, is_about_tests: bool) -> float:
        """What is left of a score here."""
        held_back = self.is_test and not is_about_tests
        return self.base_factor * (_TEST_FILE_FACTOR if held_back else 1.0)


@lru_cache(_PATH_CACHE_SIZE)
def classify_path(path: str) -> FileKind:
    """Read a path."""
    folder, _, name = path.rpartition("/")
    bare = name[:1] + name[1:].rpartition(".")[0] if "." in name[1:] else name
    share, reasons = 1.0, []
    for pattern, left, reason in _FILE_KIND_FACTORS:
        if pattern.search(path):
            share *= left
            reasons.append(reason)
    return FileKind(
        name_stems=_stem_words(bare),
        folder_stems=_stem_folders(folder),
        is_test=bool(_TEST_PATH.search(path)),
        base_factor=share,
        labels=tuple(reasons),
    )


@lru_cache(_FOLDER_CACHE_SIZE)
def _stem_folders(folder: str) -> frozenset[str]:
    return frozenset().union(*map(_stem_words, folder.split("/")[-_MAX_FOLDERS:]))


def _stem_words(name: str) -> frozenset[str]:
    return frozenset(map(stem, tokenize_query(name)))


# The definition of the very name that was asked for beats everything else.
DEFINITION_BOOST = 3.0

# The same name in other capitals may be another thing: a module and a parameter.
DEFINITION_OTHER_CASE_BOOST = 2.0

# A file that is named after what it defines is where people expect the definition.
NAMED_FILE_FACTOR = 1.5

# A name inside a sentence may be an example of what is looked for.
NAME_IN_PROSE_BOOST = 0.5

# Words of the sentence that are the parts of a defined name: "parse the header", parse_header.
NAME_PARTS_BOOST = 1.0

FILE_NAME_BOOST = 1.0

FOLDER_BOOST = 0.3

_MAX_DEFINED_NAMES = 12

_NAME_CACHE_SIZE = 65_536

_CHUNK_CACHE_SIZE = 16_384


def boost_names(query: Query, chunk: Chunk, file_kind: FileKind) -> tuple[tuple[str, float], ...]:
    """What the names that a chunk defines say for it, by the names of the signals."""
    if query.symbol:
        return (("definition", boost_definition(query, chunk, file_kind)),)
    found: tuple[tuple[str, float], ...] = ()
    if not query.names.isdisjoint(chunk.defined_names):
        found = (("definition", boost_definition(query, chunk, file_kind)),)
    if not query.stems.isdisjoint(_stem_names(chunk.defined_names).union):
        found += (("name", boost_name_parts(query, chunk)),)
    return found


def boost_definition(query: Query, chunk: Chunk, file_kind: FileKind) -> float:
    """Whether the chunk defines a name that the query mentions."""
    if not query.symbol:
        return NAME_IN_PROSE_BOOST * sum(name in query.names for name in chunk.defined_names)
    names, in_small_letters = _strip_qualifiers(chunk.defined_names)
    if query.symbol in names:
        in_named_file = stem(query.symbol.lower()) in file_kind.name_stems
        return DEFINITION_BOOST * (NAMED_FILE_FACTOR if in_named_file else 1.0)
    if query.symbol.lower() in in_small_letters:
        return DEFINITION_OTHER_CASE_BOOST
    return 0.0


def boost_name_parts(query: Query, chunk: Chunk) -> float:
    """How well the best of the defined names is made of the query's words."""
    if query.symbol or not query.stems:
        return 0.0
    best = 0.0
    for parts in _stem_names(chunk.defined_names).by_name:
        shared = len(parts & query.stems)
        if shared:
            best = max(best, shared / len(parts) * shared / len(query.stems))
    return NAME_PARTS_BOOST * best


def boost_file_name(query: Query, file_kind: FileKind) -> float:
    """How well the file's name is made of the query's words."""
    if query.symbol or not query.stems:
        return 0.0
    shared = len(file_kind.name_stems & query.stems)
    if not shared:
        return 0.0
    return (
        FILE_NAME_BOOST * shared / len(file_kind.name_stems) * math.sqrt(shared / len(query.stems))
    )


def boost_folder(query: Query, file_kind: FileKind) -> float:
    """How many of the query's words name a folder around the file."""
    if not query.stems:
        return 0.0
    shared = len((file_kind.folder_stems - file_kind.name_stems) & query.stems)
    return FOLDER_BOOST * shared / len(query.stems)


def _strip_qualifier(name: str) -> str:
    """The last part of a qualified name: ``Router`` of ``Phoenix.Router``."""
    return name.rpartition(".")[2].rpartition("::")[2] or name


@lru_cache(_NAME_CACHE_SIZE)
def _stem_name_parts(name: str) -> frozenset[str]:
    return frozenset(map(stem, tokenize_query(name)))


class _NameParts(NamedTuple):
    """The parts of the names that a chunk defines: together, and those of each."""

    union: frozenset[str]
    by_name: tuple[frozenset[str], ...]


@lru_cache(_CHUNK_CACHE_SIZE)
def _stem_names(defines: tuple[str, ...]) -> _NameParts:
    each = tuple(map(_stem_name_parts, defines[:_MAX_DEFINED_NAMES]))
    return _NameParts(frozenset().union(*each), each)


@lru_cache(_CHUNK_CACHE_SIZE)
def _strip_qualifiers(defines: tuple[str, ...]) -> tuple[frozenset[str], frozenset[str]]:
    """The last parts of the names that a chunk defines, as they are and in small letters."""
    names = frozenset(map(_strip_qualifier, defines))
    return names, frozenset(name.lower() for name in names)


# In units of the best score of all. A file that was named beats the definition of a name
# (evidence.DEFINITION, in a file named after it 4.5), and the line in it beats the file.
MENTIONED_FILE_BOOST = 3.0

MENTIONED_LINE_BOOST = 3.0

# A folder that was named, or a file found under a folder of another name.
PARTIAL_MENTION_BOOST = 1.0

# Each further frame of a trace is a caller, and less likely the cause.
FURTHER_MENTION_FACTOR = 0.85

# A trace through a large framework names many files; those that count come first.
MAX_MENTIONS = 20

MAX_MENTIONED_CHUNKS = 200


def boost_mentioned(query: Query, chunk: IndexedChunk) -> float:
    """How clearly the query names the chunk's file and lines."""
    best = 0.0
    for order, place in enumerate(query.mentions[:MAX_MENTIONS]):
        sure = _score_path_mention(place.path, chunk.path)
        if sure:
            with_line = (
                MENTIONED_LINE_BOOST
                if sure >= MENTIONED_FILE_BOOST and _contains_line(chunk, place.line)
                else 0.0
            )
            best = max(best, (sure + with_line) * FURTHER_MENTION_FACTOR**order)
    return best


def find_mentioned_chunks(catalogue: Catalog, query: Query) -> list[IndexedChunk]:
    """Chunks of the files that the query names: at the line if it names one, else all of them.

    Words alone may not bring them among the candidates.
    """
    places = query.mentions[:MAX_MENTIONS]
    files = (
        catalogue.find_files_named({_get_file_name(place.path) for place in places})
        if places
        else {}
    )
    found: dict[int, IndexedChunk] = {}
    for path, file_id in files.items():
        lines = [
            place.line
            for place in places
            if _score_path_mention(place.path, path) >= MENTIONED_FILE_BOOST
        ]
        if not lines:
            continue
        for chunk in catalogue.list_chunks(file_id):
            if None in lines or any(_contains_line(chunk, line) for line in lines):
                found[chunk.id] = chunk
        if len(found) >= MAX_MENTIONED_CHUNKS:
            break
    return list(found.values())[:MAX_MENTIONED_CHUNKS]


def _score_path_mention(named: str, path: str) -> float:
    """How clearly ``named`` is ``path``: the last parts of one are the whole other."""
    wanted, there = named.lower().split("/"), path.lower().split("/")
    shared = _count_shared_suffix(wanted, there)
    shorter = min(len(wanted), len(there))
    if shared == shorter:
        return MENTIONED_FILE_BOOST
    if shared:
        return PARTIAL_MENTION_BOOST * shared / shorter
    folders = there[:-1]
    is_folder = any(
        folders[start : start + len(wanted)] == wanted
        for start in range(len(folders) - len(wanted) + 1)
    )
    return PARTIAL_MENTION_BOOST if is_folder else 0.0


def _count_shared_suffix(wanted: Sequence[str], there: Sequence[str]) -> int:
    """How many parts are the same, counted from the end; the name may lack its extension."""
    if wanted[-1] not in {there[-1], there[-1].rpartition(".")[0]}:
        return 0
    shared = 1
    for one, other in zip(reversed(wanted[:-1]), reversed(there[:-1]), strict=False):
        if one != other:
            break
        shared += 1
    return shared


def _contains_line(chunk: IndexedChunk, line: int | None) -> bool:
    return line is not None and chunk.chunk.begin_line < line <= chunk.chunk.end_line


def _get_file_name(path: str) -> str:
    return path.rpartition("/")[2]
