"""What a path says of a file: its words, and whether it is code that people look for."""

import re
from dataclasses import dataclass
from functools import lru_cache

from kernel.domain.terms import query_terms
from kernel.search.stems import stem

# Names of the nearest folders; those above say the same of every file.
_FOLDERS = 3
_PATHS_REMEMBERED = 65_536
_FOLDERS_REMEMBERED = 16_384

_TEST = re.compile(
    r"(?:^|/)(?:tests?|__tests__|spec|specs|testing|testdata|test_?fixtures?|fixtures|e2e|benches"
    r"|benchmarks?|bench|mocks?)(?:/|$)"
    r"|(?:^|/)(?:test_[^/]*|[^/]*[_.-](?:test|tests|spec|bench)\.[a-z]+"
    r"|[^/]*(?:Tests?|Spec|TestCase|IT)\.(?:java|kt|scala|cs|swift|php)|conftest\.py)$"
)
_EXAMPLE = re.compile(
    r"(?:^|/)(?:examples?|samples?|demos?|docs_src|playground|tutorials?|_examples)(?:/|$)"
)
_PROSE = re.compile(
    r"(?:^|/)(?:docs?|documentation|website|changelogs?|site)(?:/|$)|\.(?:md|rst|mdx|txt|adoc)$"
)
_DATA = re.compile(
    r"\.(?:json|ya?ml|toml|lock|cfg|ini|xml|csv|css|scss|html?|svg|properties|gradle|kts|sbt|cmake"
    r"|csproj|sln|bazel|bzl|mk|am|in|m4)$"
    r"|(?:^|/)(?:CMakeLists\.txt|Makefile|BUILD|Dockerfile)[^/]*$"
)
_KEPT_FOR_OTHERS = re.compile(
    r"(?:^|/)(?:compat|_compat|legacy|deprecated|vendor|third_party|_vendor)(?:/|\.|$)"
)
_DECLARATIONS = re.compile(r"\.d\.[cm]?ts$")

# What is left of a score there. Each was tried at .15, .3, .6 and 1 on the benchmark: without the
# one for tests .864 instead of .873, for prose .868; the others hardly matter there, and keep a
# repository full of examples usable. Re-exports (__init__.py, index.ts) are not held back: .879
# instead of .873.
_LEFT_OF_TESTS = 0.3
_LEFT_OF: tuple[tuple[re.Pattern[str], float, str], ...] = (
    (_EXAMPLE, 0.5, "example"),
    (_PROSE, 0.5, "documentation"),
    (_DATA, 0.6, "data"),
    (_KEPT_FOR_OTHERS, 0.7, "vendored or kept for compatibility"),
    (_DECLARATIONS, 0.7, "declarations"),
)


@dataclass(frozen=True, slots=True)
class Place:
    """A path as ranking sees it."""

    name_words: frozenset[str]
    folder_words: frozenset[str]
    is_test: bool
    # What is left of a score, tests aside, and why.
    share: float
    reasons: tuple[str, ...]

    def left(self, *, about_tests: bool) -> float:
        """What is left of a score here."""
        held_back = self.is_test and not about_tests
        return self.share * (_LEFT_OF_TESTS if held_back else 1.0)


@lru_cache(_PATHS_REMEMBERED)
def place_of(path: str) -> Place:
    """Read a path."""
    folder, _, name = path.rpartition("/")
    bare = name[:1] + name[1:].rpartition(".")[0] if "." in name[1:] else name
    share, reasons = 1.0, []
    for pattern, left, reason in _LEFT_OF:
        if pattern.search(path):
            share *= left
            reasons.append(reason)
    return Place(
        name_words=_words(bare),
        folder_words=_folder_words(folder),
        is_test=bool(_TEST.search(path)),
        share=share,
        reasons=tuple(reasons),
    )


@lru_cache(_FOLDERS_REMEMBERED)
def _folder_words(folder: str) -> frozenset[str]:
    return frozenset().union(*map(_words, folder.split("/")[-_FOLDERS:]))


def _words(name: str) -> frozenset[str]:
    return frozenset(map(stem, query_terms(name)))
