"""Boosts besides the lexical and semantic scores.

Names that the chunk defines, names of its file and folders, and files and lines that the query
mentions. Boosts are in units of the best fused score; the constants were set on the 32 repositories
of the retrieval benchmark with scripts/bench.py quality.
"""

import math
from functools import lru_cache

from codekernel.domain.index import Chunk, IndexedChunk, Signal
from codekernel.search.file_kinds import FileKind
from codekernel.search.query_parser import Query
from codekernel.search.stopwords import stem, stem_words

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

# A file that the query mentions beats the definition of a name (in a file named after it 4.5), and
# the line in it beats the file.
MENTIONED_FILE_BOOST = 3.0

MENTIONED_LINE_BOOST = 3.0

# A mentioned folder, or a file of that name under another folder.
PARTIAL_MENTION_BOOST = 1.0

# Each further frame of a stack trace is a caller, and less likely the cause.
FURTHER_MENTION_FACTOR = 0.85

# A stack trace through a large framework mentions many files; those that count come first.
MAX_MENTIONS = 20

_MAX_DEFINED_NAMES = 12

_CHUNK_CACHE_SIZE = 16_384

# Read once: a member of an Enum costs a tenth of a microsecond in Python 3.11, for each chunk.
DEFINITION, NAME_PARTS = Signal.DEFINITION, Signal.NAME_PARTS

Boosts = tuple[tuple[Signal, float], ...]


def boost_defined_names(query: Query, chunk: Chunk, file_kind: FileKind) -> Boosts:
    """Compare the names that a chunk defines with the query."""
    if query.symbol:
        return ((DEFINITION, _boost_definition(query.symbol, chunk, file_kind)),)
    found: Boosts = ()
    if not query.names.isdisjoint(chunk.defined_names):
        count = sum(name in query.names for name in chunk.defined_names)
        found = ((DEFINITION, NAME_IN_PROSE_BOOST * count),)
    all_stems, stems_by_name = _stem_names(chunk.defined_names)
    if not query.stems.isdisjoint(all_stems):
        found += ((NAME_PARTS, _boost_name_parts(query.stems, stems_by_name)),)
    return found


def boost_path(query: Query, file_kind: FileKind) -> Boosts:
    """Compare the names of a file and its folders with the words of the query."""
    in_name = len(file_kind.name_stems & query.stems)
    in_folders = len((file_kind.folder_stems - file_kind.name_stems) & query.stems)
    found: Boosts = ()
    if in_name and not query.symbol:
        boost = FILE_NAME_BOOST * in_name / len(file_kind.name_stems)
        found = ((Signal.FILE_NAME, boost * math.sqrt(in_name / len(query.stems))),)
    if in_folders:
        found += ((Signal.FOLDER, FOLDER_BOOST * in_folders / len(query.stems)),)
    return found


def boost_mention(query: Query, chunk: IndexedChunk) -> float:
    """Return how clearly the query mentions the chunk's file and lines."""
    best = 0.0
    for order, mention in enumerate(query.mentions[:MAX_MENTIONS]):
        boost = score_path_mention(mention.path, chunk.path)
        if boost >= MENTIONED_FILE_BOOST and contains_line(chunk, mention.line):
            boost += MENTIONED_LINE_BOOST
        best = max(best, boost * FURTHER_MENTION_FACTOR**order)
    return best


def score_path_mention(mentioned: str, path: str) -> float:
    """Return the boost of a path for a mentioned one: whole if either is the other's suffix."""
    wanted, parts = mentioned.lower().split("/"), path.lower().split("/")
    shared = _count_shared_suffix(wanted, parts)
    shorter = min(len(wanted), len(parts))
    if shared == shorter:
        return MENTIONED_FILE_BOOST
    if shared:
        return PARTIAL_MENTION_BOOST * shared / shorter
    folders = parts[:-1]
    is_folder = any(
        folders[start : start + len(wanted)] == wanted
        for start in range(len(folders) - len(wanted) + 1)
    )
    return PARTIAL_MENTION_BOOST if is_folder else 0.0


def contains_line(chunk: Chunk, line: int | None) -> bool:
    """Return whether a chunk has a line, counted from 1."""
    return line is not None and chunk.begin_line < line <= chunk.end_line


def _boost_definition(symbol: str, chunk: Chunk, file_kind: FileKind) -> float:
    names, lower_names = _strip_qualifiers(chunk.defined_names)
    if symbol in names:
        in_named_file = stem(symbol.lower()) in file_kind.name_stems
        return DEFINITION_BOOST * (NAMED_FILE_FACTOR if in_named_file else 1.0)
    return DEFINITION_OTHER_CASE_BOOST if symbol.lower() in lower_names else 0.0


def _boost_name_parts(stems: frozenset[str], stems_by_name: tuple[frozenset[str], ...]) -> float:
    """Return how well the best of the defined names is made of the query's words."""
    best = 0.0
    for parts in stems_by_name:
        shared = len(parts & stems)
        if shared:
            best = max(best, shared / len(parts) * shared / len(stems))
    return NAME_PARTS_BOOST * best


def _count_shared_suffix(wanted: list[str], parts: list[str]) -> int:
    """Count the equal parts from the end; the file name may lack its extension."""
    if wanted[-1] not in {parts[-1], parts[-1].rpartition(".")[0]}:
        return 0
    shared = 1
    for one, other in zip(reversed(wanted[:-1]), reversed(parts[:-1]), strict=False):
        if one != other:
            break
        shared += 1
    return shared


@lru_cache(_CHUNK_CACHE_SIZE)
def _stem_names(names: tuple[str, ...]) -> tuple[frozenset[str], tuple[frozenset[str], ...]]:
    """Return the stems in the names that a chunk defines: of all together, and of each."""
    by_name = tuple(map(stem_words, names[:_MAX_DEFINED_NAMES]))
    return frozenset().union(*by_name), by_name


@lru_cache(_CHUNK_CACHE_SIZE)
def _strip_qualifiers(names: tuple[str, ...]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the last parts of qualified names (Router of Phoenix.Router), also in lower case."""
    bare = frozenset(name.rpartition(".")[2].rpartition("::")[2] or name for name in names)
    return bare, frozenset(name.lower() for name in bare)
