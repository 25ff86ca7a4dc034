"""What kind of file a path names: code, a test, an example, documentation or data."""

import re
from functools import lru_cache

_PATH_CACHE_SIZE = 65_536

TEST_PATH = re.compile(
    r"(?:^|/)(?:tests?|__tests__|spec|specs|testing|testdata|test_?fixtures?|fixtures|e2e|benches"
    r"|benchmarks?|bench|mocks?)(?:/|$)"
    r"|(?:^|/)(?:test_[^/]*|[^/]*[_.-](?:test|tests|spec|bench)\.[a-z]+"
    r"|[^/]*(?:Tests?|Spec|TestCase|IT)\.(?:java|kt|scala|cs|swift|php)|conftest\.py)$"
)

EXAMPLE_PATH = re.compile(
    r"(?:^|/)(?:examples?|samples?|demos?|docs_src|playground|tutorials?|_examples)(?:/|$)"
)

DOCUMENTATION_PATH = re.compile(
    r"(?:^|/)(?:docs?|documentation|website|changelogs?|site)(?:/|$)|\.(?:md|rst|mdx|txt|adoc)$"
)

DATA_PATH = re.compile(
    r"\.(?:json|ya?ml|toml|lock|cfg|ini|xml|csv|css|scss|html?|svg|properties|gradle|kts|sbt|cmake"
    r"|csproj|sln|bazel|bzl|mk|am|in|m4)$"
    r"|(?:^|/)(?:CMakeLists\.txt|Makefile|BUILD|Dockerfile)[^/]*$"
)

_PATTERNS = (
    ("test", TEST_PATH),
    ("example", EXAMPLE_PATH),
    ("documentation", DOCUMENTATION_PATH),
    ("data", DATA_PATH),
)

FILE_KINDS = ("code", *(kind for kind, _ in _PATTERNS))


@lru_cache(_PATH_CACHE_SIZE)
def detect_file_kind(path: str) -> str:
    """Return one of FILE_KINDS."""
    return next((kind for kind, pattern in _PATTERNS if pattern.search(path)), FILE_KINDS[0])
