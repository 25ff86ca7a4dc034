import os
from pathlib import Path

import pytest
from codekernel.domain.untrusted_text import (
    decode_path,
    encode_path,
    escape_line,
    escape_path_for_terminal,
    resolve_encoded_path,
)
from hypothesis import given
from hypothesis import strategies as st

# Names as a system may have them: any bytes, among them those that look like escapes of ours.
PIECES = st.sampled_from([rb"\x", rb"\xe9", rb"\u009b", rb"\U000e0001", b"\\", b"e9", b"\xe9"])
NAMES = st.lists(PIECES | st.binary(min_size=1, max_size=6), min_size=1, max_size=6).map(b"".join)


@given(NAMES)
def test_any_name_can_be_read_back_from_what_is_shown_of_it(name: bytes) -> None:
    path = os.fsdecode(name)
    for shown in (encode_path(path), escape_path_for_terminal(path)):
        assert os.fsencode(decode_path(shown)) == name
        shown.encode("utf-8")
    assert escape_line(escape_path_for_terminal(path)) == escape_path_for_terminal(path)


@given(st.lists(NAMES, min_size=2, max_size=4, unique=True))
def test_two_names_are_never_shown_alike(names: list[bytes]) -> None:
    assert len({encode_path(os.fsdecode(name)) for name in names}) == len(names)
    assert len({escape_path_for_terminal(os.fsdecode(name)) for name in names}) == len(names)


def test_ordinary_names_stay_as_they_are() -> None:
    for path in ("src/main.py", "docs/naïve 登录.md", "odd\\name.py", "a\\xyz.c"):
        assert encode_path(path) == path


@pytest.mark.skipif(os.name == "nt", reason="Windows has no names that are no text")
def test_what_is_there_decides_what_a_name_means(tmp_path: Path) -> None:
    raw, literal = os.fsdecode(b"caf\xe9.py"), "caf\\xe9.py"
    assert (
        resolve_encoded_path(tmp_path, literal) == literal
    )  # nothing is there: it stays what it is
    (tmp_path / literal).touch()
    assert resolve_encoded_path(tmp_path, literal) == literal
    assert resolve_encoded_path(tmp_path, encode_path(literal)) == literal
    (tmp_path / raw).touch()
    assert resolve_encoded_path(tmp_path, encode_path(raw)) == raw
    assert resolve_encoded_path(tmp_path, encode_path(literal)) == literal
    assert resolve_encoded_path(tmp_path, "\\x00") == "\\x00"
