import re
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel.errors import WrongParam
from kernel.search.patterns import (
    LONGEST_PATTERN,
    PIECES,
    compiled,
    literals,
    piece_length,
    pieces,
)


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
    assert compiled(expression).pattern == expression


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
        compiled(expression)


@pytest.mark.parametrize(
    ("expression", "complaint"),
    [
        ("(", r"not valid at character 1: missing \)"),
        ("a[z-b]", "not valid at character 3: bad character range"),
        ("*", "nothing to repeat"),
        ("(" * 500 + ")" * 500, "too deeply nested|not valid"),
        ("a" * (LONGEST_PATTERN + 1), f"{LONGEST_PATTERN} are allowed"),
        ("a{99999999999}", "too large"),
    ],
)
def test_an_invalid_expression_is_explained(expression: str, complaint: str) -> None:
    with pytest.raises(WrongParam, match=complaint):
        compiled(expression)


def test_capitals_may_not_matter() -> None:
    assert compiled("foo", ignore_case=True).search("FOO")
    assert not compiled("foo").search("FOO")


def test_the_more_open_parts_there_are_the_shorter_are_the_pieces() -> None:
    lengths = [piece_length(compiled(text)) for text in ("a", ".*a.*b", ".*a.*b.*c")]
    assert lengths == sorted(lengths, reverse=True)
    assert len(set(lengths)) == 3
    assert min(lengths) >= PIECES[-1]


def test_a_long_line_is_looked_at_to_its_end() -> None:
    line = "".join(map(str, range(1000)))
    assert list(pieces(line, len(line))) == [line]
    cut = list(pieces(line, 100))
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
    assert literals(compiled(expression)) == found


BITS = st.sampled_from(
    ["a", "b", ".", "*", "+", "?", "|", "(", ")", "[", "]", "^", "$", r"\w", r"\s", "{1,3}", "(?:"]
)


@settings(deadline=None)
@given(st.lists(BITS, max_size=14).map("".join), st.text("ab ", max_size=40))
def test_what_is_allowed_runs_and_holds_its_literals(expression: str, line: str) -> None:
    try:
        pattern = compiled(expression)
    except WrongParam:
        return
    found = pattern.search(line)
    assert found is None or all(text in line for text in literals(pattern))


@given(st.text())
def test_any_text_is_an_expression_or_refused(expression: str) -> None:
    with suppress(WrongParam):
        assert isinstance(compiled(expression), re.Pattern)
