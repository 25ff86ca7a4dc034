from itertools import pairwise

import pytest
from codekernel.domain.chat import ChatToolCall
from codekernel.loop.search_tool import (
    MAX_QUERIES,
    SearchCall,
    SearchReplyParser,
    parse_search_calls,
    parse_search_fence,
)
from hypothesis import given
from hypothesis import strategies as st


def read(
    *pieces: str, may_search: bool = True, called: bool = False
) -> tuple[str, SearchCall | None]:
    parser = SearchReplyParser(may_search=may_search)
    shown = "".join(feed(parser, piece) for piece in pieces)
    rest = "".join(piece.text for piece in parser.end(has_calls=called))
    calls = [ChatToolCall("1", "search", "{}")] if called else []
    return shown + rest, parser.build_search_call(calls)


def feed(parser: SearchReplyParser, text: str) -> str:
    return "".join(piece.text for piece in parser.feed(text))


def test_an_answer_is_shown_piece_by_piece() -> None:
    parser = SearchReplyParser(may_search=True)
    assert [feed(parser, piece) for piece in ("The ", "session ", "ends.")] == [
        "The ",
        "session ",
        "ends.",
    ]


def test_a_search_block_is_a_search_call_and_never_shown() -> None:
    shown, search = read("```search\n# Who closes it?\n- Session.close\n2. closing\n```\n")
    assert shown == ""
    assert search == SearchCall(("Session.close", "closing"), "Who closes it?")


@given(st.lists(st.integers(0, 60), max_size=8))
def test_how_a_reply_is_cut_into_pieces_does_not_matter(cuts: list[int]) -> None:
    reply = "See ```py\nx = '```'\n``` and `a`.\n\n```search\nfoo\nbar\n```\nmore"
    edges = [0, *sorted(cuts), len(reply)]
    pieces = [reply[begin:end] for begin, end in pairwise(edges)]
    assert read(*pieces) == read(reply)


def test_code_in_an_answer_is_shown_whatever_its_language() -> None:
    answer = "Run this:\n```sh\nsearch foo\n```\nand ```searching``` too. `x`"
    assert read(*answer) == (answer, None)


def test_text_before_a_block_that_reads_like_an_answer_is_kept() -> None:
    shown, search = read("Partly: it ends in close().\n\n```search\nclose\n```")
    assert shown.strip() == "Partly: it ends in close()."
    assert search == SearchCall(("close",))


def test_an_opening_becomes_the_purpose_of_the_search_it_introduces() -> None:
    assert read("Let me ", "look at the\nsession.", called=True) == (
        "",
        SearchCall((), "Let me look at the session."),
    )
    assert read("I'll look.\n```search\nfoo\n```") == ("", SearchCall(("foo",), "I'll look."))


@pytest.mark.parametrize(
    "answer",
    ["Let me explain.\n\nIt ends.", "Let me " + "explain " * 60, "Let me be brief.", "Letters"],
)
def test_an_opening_that_introduces_nothing_is_shown(answer: str) -> None:
    assert read(*answer) == (answer, None)


def test_where_no_search_is_possible_nothing_is_held_back() -> None:
    parser = SearchReplyParser(may_search=False)
    assert feed(parser, "Let me ") == "Let me "


def test_what_comes_after_a_complete_block_is_not_read() -> None:
    parser = SearchReplyParser(may_search=True)
    assert feed(parser, "```search\nfoo\n```\nInvented result") == ""
    assert parser.is_over
    assert feed(parser, "more") == ""
    assert list(parser.end(has_calls=False)) == []
    assert parser.build_search_call([]) == SearchCall(("foo",))


def test_a_block_without_its_end_or_without_queries_is_understood() -> None:
    assert read("```search\nfoo") == ("", SearchCall(("foo",)))
    assert read("```search foo\n```") == ("", SearchCall(("foo",)))
    assert read("```search\n```") == ("", None)


def test_queries_are_few_short_and_distinct() -> None:
    search = parse_search_fence("\n".join([*map(str, range(20)), "x" * 10_000]))
    assert len(search.queries) == MAX_QUERIES
    assert parse_search_fence("a  b\na b\n").queries == ("a b",)
    assert len(parse_search_fence("x" * 10_000).queries[0]) < 1000


@pytest.mark.parametrize(
    "arguments",
    [
        '{"purpose": "why", "queries": ["a", "b"]}',
        '{"purpose": "why", "query": "a", "keywords": ["b", 5]}',
        '{"purpose": "why", "queries": "a", "terms": "b"}',
    ],
)
def test_queries_are_found_under_whatever_name(arguments: str) -> None:
    search = parse_search_calls([ChatToolCall("1", "search", arguments)], "said")
    assert (search.queries, search.purpose) == (("a", "b"), "why")


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


def test_several_calls_are_one_search_and_the_preamble_is_its_purpose() -> None:
    calls = [ChatToolCall(str(n), "search", f'{{"queries": ["q{n}"]}}') for n in range(2)]
    search = parse_search_calls(calls, "Let me look.")
    assert (search.queries, search.purpose) == (("q0", "q1"), "Let me look.")
