import pytest
from codekernel.domain.chat import ChatToolCall
from codekernel.loop.search_tool import parse_search_calls


@pytest.mark.parametrize(
    "arguments",
    [
        '{"purpose": "why", "queries": ["a", "b"]}',
        '{"purpose": "why", "query": "a", "keywords": ["b", 5]}',
        '{"purpose": "why", "queries": "a", "terms": "b"}',
    ],
)
def test_queries_are_found_under_whatever_name(arguments: str) -> None:
    wish = parse_search_calls([ChatToolCall("1", "search", arguments)], "said")
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
    assert parse_search_calls([ChatToolCall("1", "search", arguments)], "").queries == queries


def test_several_calls_are_one_wish_and_what_was_said_is_its_purpose() -> None:
    calls = [ChatToolCall(str(n), "search", f'{{"queries": ["q{n}"]}}') for n in range(2)]
    wish = parse_search_calls(calls, "Let me look.")
    assert (wish.queries, wish.purpose) == (("q0", "q1"), "Let me look.")
