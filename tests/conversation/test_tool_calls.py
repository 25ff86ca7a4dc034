import pytest

from kernel.conversation.tool_calls import wish_of_calls
from kernel.domain.chat import ToolCall


@pytest.mark.parametrize(
    "arguments",
    [
        '{"purpose": "why", "queries": ["a", "b"]}',
        '{"purpose": "why", "query": "a", "keywords": ["b", 5]}',
        '{"purpose": "why", "queries": "a", "terms": "b"}',
    ],
)
def test_queries_are_found_under_whatever_name(arguments: str) -> None:
    wish = wish_of_calls([ToolCall("1", "search", arguments)], "said")
    assert (wish.queries, wish.purpose) == (("a", "b"), "why")


@pytest.mark.parametrize(
    ("arguments", "queries"),
    [
        ('{"queries": ["a", "b', ("a",)),
        ('["a", "b"]', ("a", "b")),
        ('"a"', ("a",)),
        ("", ()),
        ("nonsense", ()),
        ("{}", ()),
        ("[" * 100_000, ()),
    ],
)
def test_broken_arguments_give_what_can_be_read(arguments: str, queries: tuple[str, ...]) -> None:
    assert wish_of_calls([ToolCall("1", "search", arguments)], "").queries == queries


def test_several_calls_are_one_wish_and_what_was_said_is_its_purpose() -> None:
    calls = [ToolCall(str(n), "search", f'{{"queries": ["q{n}"]}}') for n in range(2)]
    wish = wish_of_calls(calls, "Let me look.")
    assert (wish.queries, wish.purpose) == (("q0", "q1"), "Let me look.")
