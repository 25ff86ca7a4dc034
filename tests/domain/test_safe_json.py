"""JSON that is nested deeper than anything honest is a ValueError, wherever it comes in."""

import json

import pytest
from codekernel.domain.untrusted_text import MAX_JSON_DEPTH, JsonTooDeepError, parse_json


def nested(depth: int, opening: str = "[", closing: str = "]") -> str:
    return opening * depth + closing * depth


@pytest.mark.parametrize("depth", [MAX_JSON_DEPTH + 1, 900, 985, 1000, 100_000])
@pytest.mark.parametrize("pair", [("[", "]"), ('{"a":', "}"), ('[{"a":', "}]")])
def test_deep_nesting_is_an_ordinary_error(depth: int, pair: tuple[str, str]) -> None:
    text = nested(depth, *pair).replace(":}", ":1}")
    for given in (text, text.encode()):
        with pytest.raises(JsonTooDeepError):
            parse_json(given)


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
