"""The kind of a file, by its path."""

import pytest
from codekernel.search.file_kinds import FILE_KINDS, detect_file_kind


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("src/login.py", "code"),
        ("tests/test_login.py", "test"),
        ("src/login.test.ts", "test"),
        ("examples/login.py", "example"),
        ("README.md", "documentation"),
        ("package.json", "data"),
    ],
)
def test_a_path_tells_the_kind_of_its_file(path: str, kind: str) -> None:
    assert detect_file_kind(path) == kind
    assert kind in FILE_KINDS
