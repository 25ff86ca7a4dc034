"""JSON that is nested deeper than anything honest is a ValueError, wherever it comes in."""

import html
import json
import os
from pathlib import Path

import pytest
from codekernel.domain.untrusted_text import (
    MAX_JSON_DEPTH,
    JsonTooDeepError,
    decode_path,
    encode_path,
    escape_controls_in_json,
    escape_html,
    escape_json,
    escape_line,
    escape_path_for_terminal,
    escape_text,
    escape_text_keep_ansi,
    parse_json,
    resolve_encoded_path,
)
from hypothesis import given
from hypothesis import strategies as st


def nested(depth: int, opening: str = "[", closing: str = "]") -> str:
    return opening * depth + closing * depth


@pytest.mark.parametrize("depth", [MAX_JSON_DEPTH + 1, 900, 985, 1000, 100_000])
@pytest.mark.parametrize("pair", [("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")])
def test_deep_nesting_is_an_ordinary_error(depth: int, pair: tuple[str, str]) -> None:
    text = nested(depth, *pair).replace(":}", ":1}")
    for content in (text, text.encode()):
        with pytest.raises(JsonTooDeepError):
            parse_json(content)


def test_depth_is_what_counts_and_not_the_number_of_brackets() -> None:
    assert parse_json(nested(MAX_JSON_DEPTH))
    flat = json.dumps(
        [[] for _ in range(10 * MAX_JSON_DEPTH)] + ["[" * 1000, '"' + "{" * 1000 + "\\"]
    )
    assert parse_json(flat) == json.loads(flat)
    assert parse_json(flat.encode()) == json.loads(flat)


@pytest.mark.parametrize(
    "text", ["", "[", '"' + "[" * 1000, "nul", "]" * 1000, "{" * 50, b"\xff", "[" * 50]
)
def test_what_is_no_json_is_a_value_error(text: str | bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - any of them
        parse_json(text)


def test_a_long_unclosed_string_is_looked_at_once() -> None:
    with pytest.raises(ValueError, match="Unterminated"):
        parse_json('["' + "[" * 2_000_001)


ODD = "\x1b\x07\x9b\x7f\u2028\u202e\ud800"
ANYTHING = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(ODD))


def is_safe(text: str, kept: str = "") -> bool:
    return all(
        character in kept
        or not (
            ord(character) < 0x20
            or 0x7F <= ord(character) < 0xA0
            or 0xD800 <= ord(character) < 0xE000
            or character in "\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
        )
        for character in text
    )


@given(ANYTHING)
def test_nothing_that_commands_a_terminal_is_left(text: str) -> None:
    assert is_safe(escape_line(text))
    assert is_safe(escape_text(text), kept="\n\t")


@given(ANYTHING)
def test_json_means_the_same_after_it_was_escaped(text: str) -> None:
    for document in (json.dumps([text]), json.dumps([text], ensure_ascii=False)):
        for escaped in (escape_json(document), escape_controls_in_json(document)):
            assert json.loads(escaped) == [text]
            assert is_safe(escaped)
        assert escape_json(document).isascii()


def test_ordinary_text_of_any_language_stays_as_it_is() -> None:
    text = "登录验证 naïve Ω 🎈\tx"
    assert escape_text(text) == text
    assert (
        escape_controls_in_json(json.dumps([text], ensure_ascii=False))
        == '["登录验证 naïve Ω 🎈\\tx"]'
    )


def test_only_codes_of_our_own_pass_to_a_terminal() -> None:
    own = "\x1b[1;31mred\x1b[0m \r\x1b[K \x1b]8;;file:///a%20b.py\x1b\\a b.py\x1b]8;;\x1b\\"
    assert escape_text_keep_ansi(own) == own
    foreign = "\x1b]0;title\x07\x1b[2J\x1b]8;;http://x\x1b\\\r\x9b31m"
    assert is_safe(escape_text_keep_ansi(foreign))


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


@given(st.text(st.sampled_from("&<>\"'a;#\U0001f600\x00\n")) | st.text())
def test_html_is_escaped_as_the_standard_library_does(text: str) -> None:
    assert escape_html(text) == html.escape(text)
