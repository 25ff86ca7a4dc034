import re
from contextlib import suppress

import pytest
from codekernel.errors import WrongParam
from codekernel.search.safe_regex import (
    MAX_PATTERN_CHARS,
    PIECE_LENGTHS,
    choose_piece_length,
    compile_regex,
    extract_literals,
    split_line,
)
from hypothesis import given, settings
from hypothesis import strategies as st


@pytest.mark.parametrize(
    "expression",
    [
        "foo",
        r"def \w+\(",
        r"^\s*(async\s+)?def\s+(\w+)",
        r"(\d+\.)+\d",
        r'("[^"]*",?\s*)+',
        r"(?:\s*\w+\s*,)*",
        "(foo|bar)+",
        ".*foo.*bar",
        "TODO|FIXME",
        "[a-z]+Error",
        "(a++)+b",
        "[[a]",
        r"(?P<x>a)(?P=x)",
        r"(?<=a)b(?!c)",
        r"[^\W\d_\s-]+",
        "(a)?(?(1)b|c)",
    ],
)
def test_ordinary_expressions_are_allowed(expression: str) -> None:
    assert compile_regex(expression).pattern == expression


@pytest.mark.parametrize(
    "expression",
    [
        "(a+)+b",
        "(a*)*b",
        "(a|a)*b",
        "(a?a)+b",
        r"(\w+\s*)*x",
        "(x+x+)+y",
        "(.*a){10}",
        "(?=(a+)+b)x",
        r"((a)\2*)+b",
        "a.*b.*c.*d.*e",
        "a?" * 30 + "a" * 30,
    ],
)
def test_what_could_run_for_ages_is_refused(expression: str) -> None:
    with pytest.raises(WrongParam, match="could run for ages"):
        compile_regex(expression)


@pytest.mark.parametrize(
    ("expression", "complaint"),
    [
        ("(", r"not valid at character 1: missing \)"),
        ("a[z-b]", "not valid at character 3: bad character range"),
        ("*", "nothing to repeat"),
        ("(" * 500 + ")" * 500, "too deeply nested|not valid"),
        ("a" * (MAX_PATTERN_CHARS + 1), f"{MAX_PATTERN_CHARS} are allowed"),
        ("a{99999999999}", "too large"),
    ],
)
def test_an_invalid_expression_is_explained(expression: str, complaint: str) -> None:
    with pytest.raises(WrongParam, match=complaint):
        compile_regex(expression)


def test_capitals_may_not_matter() -> None:
    assert compile_regex("foo", ignore_case=True).search("FOO")
    assert not compile_regex("foo").search("FOO")


def test_the_more_open_parts_there_are_the_shorter_are_the_pieces() -> None:
    lengths = [choose_piece_length(compile_regex(text)) for text in ("a", ".*a.*b", ".*a.*b.*c")]
    assert lengths == sorted(lengths, reverse=True)
    assert len(set(lengths)) == 3
    assert min(lengths) >= PIECE_LENGTHS[-1]


def test_a_long_line_is_looked_at_to_its_end() -> None:
    line = "".join(map(str, range(1000)))
    assert list(split_line(line, len(line))) == [line]
    cut = list(split_line(line, 100))
    assert {len(piece) for piece in cut[:-1]} == {100}
    assert all(line[i : i + 50] in "\n".join(cut) for i in range(len(line) - 50))


@pytest.mark.parametrize(
    ("expression", "found"),
    [
        ("foo", ["foo"]),
        (r"def \w+\(self", ["def ", "(self"]),
        ("a|b", []),
        ("(foo)?bar", ["bar"]),
        ("[ab]", []),
    ],
)
def test_texts_that_every_match_holds_are_found(expression: str, found: list[str]) -> None:
    assert extract_literals(compile_regex(expression)) == found


BITS = st.sampled_from(
    ["a", "b", ".", "*", "+", "?", "|", "(", ")", "[", "]", "^", "$", r"\w", r"\s", "{1,3}", "(?:"]
)


@settings(deadline=None)
@given(st.lists(BITS, max_size=14).map("".join), st.text("ab ", max_size=40))
def test_what_is_allowed_runs_and_holds_its_literals(expression: str, line: str) -> None:
    try:
        pattern = compile_regex(expression)
    except WrongParam:
        return
    found = pattern.search(line)
    assert found is None or all(text in line for text in extract_literals(pattern))


@given(st.text())
def test_any_text_is_an_expression_or_refused(expression: str) -> None:
    with suppress(WrongParam):
        assert isinstance(compile_regex(expression), re.Pattern)
