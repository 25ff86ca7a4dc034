"""From commits to questions with known answers: a message asks for the files it changed.

Pure. What is left out is what no person would type into a search box: merges, reverts, releases,
formatting, the work of bots, and commits that touch half of the repository.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePosixPath

from kernel.domain.terms import query_terms
from kernel.search.history import Commit
from kernel.search.places import place_of
from kernel.search.stems import stem

# A commit that changes more is about many things at once.
MOST_FILES = 8
# Shorter messages ("fix tests") ask for nothing; in Chinese two neighbours count as a word.
FEWEST_WORDS = 3
LONGEST_MESSAGE = 300

_TRAILER = re.compile(
    r"[a-z][\w-]*-(?:by|id|on|from|to|url): |(?:cc|bug|see|pr|link): ", re.IGNORECASE
)
_PREFIX = re.compile(
    r"^(?:feat|fix|docs?|style|refactor|perf|tests?|build|ci|chore|wip|deps?|types?|security"
    r"|release|misc)(?:\([^)]*\))?!?:\s*",
    re.IGNORECASE,
)
_NUMBERS = re.compile(
    r"[(\[]?\b(?:(?:fix(?:es|ed)?|close[sd]?|resolve[sd]?|refs?|see|issue|pr|pull request|ticket)"
    r"[:\s]+)?(?:[\w.-]+/[\w.-]+)?(?:#|gh-)\d+\b[)\]]?"
    r"|[(\[]\s*#\d+\s*[)\]]|#\d+\b|https?://\S+"
    # A tracker's number; UTF-8 and SHA-256 inside a sentence are none.
    r"|(?-i:^[A-Z][A-Z0-9]+-\d+\b:?|[(\[][A-Z][A-Z0-9]+-\d+[)\]]:?)",
    re.IGNORECASE,
)
_BRACKETED = re.compile(r"^(?:\[[^\]]*\]\s*)+|:[a-z_]+:")
# In a search box quotes ask for an exact string, and these words for a filter.
_OF_A_SEARCH_BOX = re.compile(r"\"|(?<!\S)-?(?:lang|path|file|symbol)(?::(?=\S))", re.IGNORECASE)
_BOT = re.compile(
    r"\[bot\]|\bbots?\b|-bot\b|dependabot|renovate|github-actions|greenkeeper", re.IGNORECASE
)
_NOT_A_QUESTION = re.compile(
    r"merge\b|revert|this reverts|back ?out\b|fixup!|squash!|initial commit\b|wip\b"
    r"|(?:[\w.-]+ )?v?\d+\.\d+[\w.-]*$"
    r"|(?:bump|release|prepare|prep|tag|cut|set|update|upgrade)\b.*"
    r"\b(?:versions?|releases?|v?\d+\.\d+[\w.]*|snapshot|changelog|dependenc\w+|deps|lockfile)\b"
    r"|(?:re-?)?format(?:ting|ted)?\b|(?:run|apply|use)\b.*\b(?:black|ruff|prettier|isort|gofmt"
    r"|rustfmt|clang-format|eslint|formatter|linter)\b|(?:fix\w*|remove|strip|trim|clean\w*)\b.*"
    r"\b(?:whitespace|white space|formatting|indentation|lint\w*|typos?|spelling)\b"
    r"|typos?\b|lint\w*\b|update (?:copyright|licen[cs]e|authors|contributors|translations)",
    re.IGNORECASE,
)
# Nobody searches for the lock file that an upgrade changed.
_NOT_CODE = frozenset({"documentation", "data"})


@dataclass(frozen=True, slots=True)
class Question:
    """A commit's message and the files that a search for it should find."""

    commit: str
    text: str
    paths: frozenset[str]
    # Every word of a file's name stands in the message: finding it is easy.
    names_a_file: bool


def questions(
    history: Iterable[Commit], is_indexed: Callable[[str], bool], most: int
) -> list[Question]:
    """The newest ``most`` questions; of equal messages only the newest asks."""
    return list(islice(_asked(history, is_indexed), most))


def message_of(commit: Commit) -> str:
    """What the commit says it does: its first paragraph, without numbers, prefixes, trailers."""
    lines = commit.message.strip().split("\n\n", 1)[0].splitlines()
    text = " ".join(line.strip() for line in lines if not _TRAILER.match(line.strip()))
    for noise in (_NUMBERS, _BRACKETED, _PREFIX, _OF_A_SEARCH_BOX):
        text = noise.sub(" ", text).strip()
    return " ".join(text.split()).strip(" -:,;.")[:LONGEST_MESSAGE]


def _asked(history: Iterable[Commit], is_indexed: Callable[[str], bool]) -> Iterator[Question]:
    seen: set[str] = set()
    for commit in history:
        text = message_of(commit)
        if text in seen or not _asks(commit, text):
            continue
        paths = _wanted(path for path in commit.paths if is_indexed(path))
        if paths:
            seen.add(text)
            yield Question(commit.id, text, paths, _names(text, paths))


def _asks(commit: Commit, text: str) -> bool:
    if not 0 < len(commit.paths) <= MOST_FILES:
        return False
    if _BOT.search(commit.author) or _BOT.search(commit.mail):
        return False
    if _NOT_A_QUESTION.match(text) or _NOT_A_QUESTION.match(commit.message):
        return False
    return len(query_terms(text)) >= FEWEST_WORDS


def _wanted(paths: Iterable[str]) -> frozenset[str]:
    """The changed code; its tests, changelog and documents come along and are not asked for.

    Tests and examples are, where nothing else was changed.
    """
    places = {path: place_of(path) for path in paths}
    code = [path for path, at in places.items() if not at.is_test and not at.reasons]
    read = [path for path, at in places.items() if _NOT_CODE.isdisjoint(at.reasons)]
    return frozenset(code or read)


def _names(text: str, paths: Iterable[str]) -> bool:
    said = frozenset(map(stem, query_terms(text)))
    names = (query_terms(PurePosixPath(path).stem) for path in paths)
    return any(name and said.issuperset(map(stem, _parts(name))) for name in names)


def _parts(name: list[str]) -> list[str]:
    """The words of a name without those that are several of them joined."""
    return [
        word for word in name if not any(word != other and word.startswith(other) for other in name)
    ]
