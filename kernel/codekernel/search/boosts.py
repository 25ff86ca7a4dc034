"""Boost what has more than lexical and semantic scores, and lower the scores of kinds of file.

Names that the chunk defines, names of its file and folders, and files and lines that the query
mentions; tests, examples, documentation and data, which a question about code seldom means. Boosts
are in units of the best fused score; the constants were set on the 32 repositories of the retrieval
benchmark with scripts/bench.py quality.
"""

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile

from codekernel.domain.index import Chunk, IndexedChunk, Signal
from codekernel.search.file_kinds import DATA_PATH, DOCUMENTATION_PATH, EXAMPLE_PATH, TEST_PATH
from codekernel.search.query_parser import Query
from codekernel.search.ranking_weights import DEFAULT_WEIGHTS, RankingWeights
from codekernel.search.word_forms import stem_words

# The definition of the very name that was asked for beats everything else.
DEFINITION_BOOST = 3.0

# The same name in other capitals may be another thing: a module and a parameter. Of 480 names asked
# in small letters the file that defines them is first for .981, without this for .944; as they are
# .994, and .988 if capitals made no difference.
DEFINITION_OTHER_CASE_BOOST = 2.0

# A name inside a sentence may be an example of what is looked for.
NAME_IN_PROSE_BOOST = 0.5

# Words of the sentence that are the parts of a defined name: "parse the header", parse_header.
NAME_PARTS_BOOST = 1.0

# If no file is named after a word of the sentence (ranking.py, SEMANTIC_WEIGHT_OF_UNNAMED).
NAME_PARTS_BOOST_OF_UNNAMED = 0.5

FILE_NAME_BOOST = 1.0

FOLDER_BOOST = 0.3

# A file that the query mentions counts as much as a definition, and the line in it beats the file.
MENTIONED_FILE_BOOST = 3.0

MENTIONED_LINE_BOOST = 3.0

# A mentioned folder, or a file of that name under another folder.
PARTIAL_MENTION_BOOST = 1.0

# Each further frame of a stack trace is a caller, and less likely the cause.
FURTHER_MENTION_FACTOR = 0.85

# A stack trace through a large framework mentions many files; those that count come first.
MAX_MENTIONS = 20

_MAX_DEFINED_NAMES = 12

# "thread pool" in threadpool.py.
_JOINED_WORDS = 2

_CHUNK_CACHE_SIZE = 16_384

# Read once: a member of an Enum costs a tenth of a microsecond in Python 3.11, for each chunk.
LEXICAL, SEMANTIC, FILE_KIND = Signal.LEXICAL, Signal.SEMANTIC, Signal.FILE_KIND
DEFINITION, NAME_PARTS, MENTION = Signal.DEFINITION, Signal.NAME_PARTS, Signal.MENTION

Boosts = tuple[tuple[Signal, float], ...]

# The weighted lexical and semantic scores of a chunk; together 1 if it is best in both.
FusedScore = tuple[float, float]

# A chunk, its score and its signals: a plain tuple, which costs a quarter of a RankedChunk.
BoostedChunk = tuple[IndexedChunk, float, dict[Signal, float]]

# The stems of all names that a chunk defines, and of each.
NameStems = tuple[frozenset[str], tuple[frozenset[str], ...]]

# A plain dictionary: each hit of lru_cache moves its entry to the end of a list, which touches four
# others, and a hundred chunks are looked up for a query.
_stems_by_names: dict[tuple[str, ...], NameStems] = {}

# Names of the nearest folders; those above say the same of every file.
_MAX_FOLDERS = 3

_PATH_CACHE_SIZE = 65_536

_VENDORED_PATH = re.compile(
    r"(?:^|/)(?:compat|_compat|legacy|deprecated|vendor|third_party|_vendor)(?:/|\.|$)"
)

_DECLARATION_PATH = re.compile(r"\.d\.[cm]?ts$")

_DOCUMENTATION = "documentation"

# Factors of a score. Each was tried at .15, .3, .6 and 1 on the benchmark: without the one for
# tests .864 instead of .873, for documentation .868; the others hardly matter there, and keep a
# repository full of examples usable. Re-exports (__init__.py, index.ts) are not lowered: .879
# instead of .873.
_TEST_FILE_FACTOR = 0.3

_FILE_KIND_FACTORS: tuple[tuple[re.Pattern[str], float, str], ...] = (
    (EXAMPLE_PATH, 0.5, "example"),
    (DOCUMENTATION_PATH, 0.5, _DOCUMENTATION),
    (DATA_PATH, 0.6, "data"),
    (_VENDORED_PATH, 0.7, "vendored or kept for compatibility"),
    (_DECLARATION_PATH, 0.7, "declarations"),
)


# A test file that defines the very name that was asked for comes behind a definition in other code,
# and before what only mentions the name.
_DEFINING_TEST_FACTOR = 0.8

# Who asks how something works wants the code first. Benchmark: four questions better, none worse.
_DOCUMENTATION_FACTOR_IN_QUESTION = 0.5

_QUESTION = re.compile(r"\s*(?:how|where|what|why|which)\b", re.IGNORECASE)

_NO_CODE_LABELS = frozenset({"example", _DOCUMENTATION, "data"})


@dataclass(frozen=True, slots=True)
class FileKind:
    """What a path says about its file."""

    name_stems: frozenset[str]
    # Of the nearest folders, without those of the name.
    folder_stems: frozenset[str]
    is_test: bool
    # The factor of a score in this file, tests aside, and the kinds it comes from.
    factor: float
    labels: tuple[str, ...]

    @property
    def is_code(self) -> bool:
        """Return whether the file is neither a test nor an example, a document or data."""
        return not self.is_test and _NO_CODE_LABELS.isdisjoint(self.labels)


@lru_cache(_PATH_CACHE_SIZE)
def classify_path(path: str) -> FileKind:
    """Return the kind of a file and the stems of its name and its nearest folders."""
    folder, _, name = path.rpartition("/")
    bare_name = name[:1] + name[1:].rpartition(".")[0] if "." in name[1:] else name
    found = [kind for kind in _FILE_KIND_FACTORS if kind[0].search(path)]
    name_stems = stem_words(bare_name)
    folders = folder.split("/")[-_MAX_FOLDERS:]
    return FileKind(
        name_stems=name_stems,
        folder_stems=frozenset().union(*map(stem_words, folders)) - name_stems,
        is_test=bool(TEST_PATH.search(path)),
        factor=math.prod((factor for _, factor, _ in found), start=1.0),
        labels=tuple(label for _, _, label in found),
    )


def _compute_file_factor(query: Query, file_kind: FileKind, *, is_question: bool) -> float:
    """Return the factor of a score in a file."""
    factor = file_kind.factor
    if file_kind.is_test and not query.is_about_tests:
        factor *= _TEST_FILE_FACTOR
    if is_question and _DOCUMENTATION in file_kind.labels:
        factor *= _DOCUMENTATION_FACTOR_IN_QUESTION
    return factor


def _spare_defining_test(file_kind: FileKind, factor: float, defined: Boosts) -> float:
    """Return the factor of a test's chunk, which may define the very name that was asked for."""
    if any(signal is DEFINITION and gain for signal, gain in defined):
        return max(factor, _DEFINING_TEST_FACTOR * file_kind.factor)
    return factor


def is_any_file_named(query: Query, chunks: Iterable[IndexedChunk]) -> bool:
    """Return whether a word of the query stands in the name of a file."""
    kinds = map(classify_path, {chunk.path for chunk in chunks})
    return any(
        not (
            kind.name_stems.isdisjoint(query.stems)
            and kind.name_stems.isdisjoint(query.joined_stems)
        )
        for kind in kinds
    )


def apply_boosts(
    query: Query,
    fused: Mapping[int, FusedScore],
    chunks: Mapping[int, IndexedChunk],
    weights: RankingWeights = DEFAULT_WEIGHTS,
    *,
    is_unnamed: bool = False,
) -> list[BoostedChunk]:
    """Return the fused chunks with boosts; tests, examples and data have lowered scores.

    ``is_unnamed``: no file is named after the query.
    """
    unit = max(map(sum, fused.values()), default=0.0) or 1.0
    is_question = bool(_QUESTION.match(query.semantic_query))
    name_boost = NAME_PARTS_BOOST_OF_UNNAMED if is_unnamed else NAME_PARTS_BOOST
    name_boost *= weights.name_parts
    stems = query.stems | query.joined_stems
    files: dict[str, tuple[FileKind, float, Boosts]] = {}
    boosted: list[BoostedChunk] = []
    for number, (lexical, semantic) in fused.items():
        chunk = chunks[number]
        path = chunk.path
        file = files.get(path)
        if file is None:
            kind = classify_path(path)
            factor = _compute_file_factor(query, kind, is_question=is_question)
            file = files[path] = (
                kind,
                factor,
                _scale_boosts(_boost_path(query, kind, weights), unit),
            )
        kind, factor, gains = file
        if chunk.defined_names:
            defined = _boost_defined_names(query, stems, chunk, name_boost)
            if defined:
                factor = _spare_defining_test(kind, factor, defined) if kind.is_test else factor
                gains = _scale_boosts(defined, unit) + gains
        if query.mentions:
            gains += _scale_boosts(((MENTION, boost_mention(query, chunk)),), unit)
        score = lexical + semantic
        signals = {LEXICAL: lexical, SEMANTIC: semantic}
        for signal, gain in gains:
            signals[signal] = gain
            score += gain
        if factor != 1.0:
            signals[FILE_KIND] = score * (factor - 1)
            score *= factor
        boosted.append((chunk, score, signals))
    return boosted


def _scale_boosts(boosts: Boosts, unit: float) -> Boosts:
    """Return what boosts add to a score, without those that add nothing."""
    return tuple([(signal, boost * unit) for signal, boost in boosts if boost])


def _boost_defined_names(
    query: Query, stems: frozenset[str], chunk: Chunk, name_boost: float
) -> Boosts:
    """Compare the names that a chunk defines with the query, of which ``stems`` are all stems."""
    if query.symbol:
        return ((DEFINITION, _boost_definition(query.symbol, chunk)),)
    found: Boosts = ()
    names = chunk.defined_names
    if query.names and not query.names.isdisjoint(names):
        count = sum(name in query.names for name in names)
        found = ((DEFINITION, NAME_IN_PROSE_BOOST * count),)
    all_stems, stems_by_name = _stems_by_names.get(names) or _stem_names(names)
    if not stems.isdisjoint(all_stems):  # few names, and faster than comparing each
        found += ((NAME_PARTS, name_boost * _compare_names(query, stems, stems_by_name)),)
    return found


def _boost_path(query: Query, file_kind: FileKind, weights: RankingWeights) -> Boosts:
    """Compare the names of a file and its folders with the words of the query."""
    in_name, coverage = compare_stems(query, file_kind.name_stems)
    in_folders = len(file_kind.folder_stems & query.stems)
    found: Boosts = ()
    if in_name and not query.symbol:
        boost = weights.file_name * FILE_NAME_BOOST * in_name / len(file_kind.name_stems)
        found = ((Signal.FILE_NAME, boost * math.sqrt(coverage)),)
    if in_folders:
        boost = weights.folder * FOLDER_BOOST
        found += ((Signal.FOLDER, boost * in_folders / len(query.stems)),)
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
    folder = "/".join(("", *parts[:-1], ""))
    return PARTIAL_MENTION_BOOST if "/".join(("", *wanted, "")) in folder else 0.0


def contains_line(chunk: Chunk, line: int | None) -> bool:
    """Return whether a chunk has a line, counted from 1."""
    return line is not None and chunk.begin_line < line <= chunk.end_line


def _boost_definition(symbol: str, chunk: Chunk) -> float:
    names, lower_names = _strip_qualifiers(chunk.defined_names)
    if symbol in names:
        return DEFINITION_BOOST
    return DEFINITION_OTHER_CASE_BOOST if symbol.lower() in lower_names else 0.0


def _compare_names(
    query: Query, stems: frozenset[str], stems_by_name: tuple[frozenset[str], ...]
) -> float:
    """Return how well the best of the defined names is made of the query's words."""
    best = 0.0
    for parts in stems_by_name:
        if not stems.isdisjoint(parts):  # few names, and faster than counting
            shared, coverage = compare_stems(query, parts)
            best = max(best, shared / len(parts) * coverage)
    return best


def compare_stems(query: Query, stems: frozenset[str]) -> tuple[int, float]:
    """Return how many stems of a name the query has, and the share of its words that they are.

    A stem of two words written together is one of the name and two of the query.
    """
    shared = len(stems & query.stems)
    joined = len(stems & query.joined_stems) if query.joined_stems else 0
    covered = max(shared, _JOINED_WORDS) if joined else shared
    return shared + joined, min(1.0, covered / len(query.stems)) if covered else 0.0


def _count_shared_suffix(wanted: list[str], parts: list[str]) -> int:
    """Count the equal parts from the end; the file name may lack its extension."""
    if wanted[-1] not in {parts[-1], parts[-1].rpartition(".")[0]}:
        return 0
    pairs = zip(wanted[-2::-1], parts[-2::-1], strict=False)
    return 1 + len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))


def _stem_names(names: tuple[str, ...]) -> NameStems:
    """Return the stems in the names that a chunk defines: of all together, and of each."""
    if len(_stems_by_names) > _CHUNK_CACHE_SIZE:
        _stems_by_names.clear()
    by_name = tuple(map(stem_words, names[:_MAX_DEFINED_NAMES]))
    found = _stems_by_names[names] = frozenset().union(*by_name), by_name
    return found


@lru_cache(_CHUNK_CACHE_SIZE)
def _strip_qualifiers(names: tuple[str, ...]) -> tuple[frozenset[str], frozenset[str]]:
    """Return the last parts of qualified names (Router of Phoenix.Router), also in lower case."""
    bare = frozenset(name.rpartition(".")[2].rpartition("::")[2] or name for name in names)
    return bare, frozenset(name.lower() for name in bare)
