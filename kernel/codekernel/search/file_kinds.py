"""Classify a path: test, example, documentation, data, vendored; and stem the words in it.

Ranking lowers the scores of the kinds that a question about code seldom means.
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from codekernel.search.stopwords import stem_words

# Names of the nearest folders; those above say the same of every file.
_MAX_FOLDERS = 3

_PATH_CACHE_SIZE = 65_536

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

# Factors of a score. Each was tried at .15, .3, .6 and 1 on the benchmark: without the one for
# tests .864 instead of .873, for documentation .868; the others hardly matter there, and keep a
# repository full of examples usable. Re-exports (__init__.py, index.ts) are not lowered: .879
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
    """What a path says about its file."""

    name_stems: frozenset[str]
    folder_stems: frozenset[str]
    is_test: bool
    # The factor of a score in this file, tests aside, and the kinds it comes from.
    base_factor: float
    labels: tuple[str, ...]

    def get_score_factor(self, *, is_about_tests: bool) -> float:
        """Return the factor of a score in this file."""
        is_lowered = self.is_test and not is_about_tests
        return self.base_factor * (_TEST_FILE_FACTOR if is_lowered else 1.0)


@lru_cache(_PATH_CACHE_SIZE)
def classify_path(path: str) -> FileKind:
    """Return the kind of a file and the stems of its name and its nearest folders."""
    folder, _, name = path.rpartition("/")
    bare_name = name[:1] + name[1:].rpartition(".")[0] if "." in name[1:] else name
    factor, labels = 1.0, []
    for pattern, kind_factor, label in _FILE_KIND_FACTORS:
        if pattern.search(path):
            factor *= kind_factor
            labels.append(label)
    return FileKind(
        name_stems=stem_words(bare_name),
        folder_stems=frozenset().union(*map(stem_words, folder.split("/")[-_MAX_FOLDERS:])),
        is_test=bool(_TEST_PATH.search(path)),
        base_factor=factor,
        labels=tuple(labels),
    )
