import json

from codekernel.domain.untrusted_text import (
    escape_controls_in_json,
    escape_json,
    escape_line,
    escape_text,
    escape_text_keep_ansi,
)
from hypothesis import given
from hypothesis import strategies as st

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
