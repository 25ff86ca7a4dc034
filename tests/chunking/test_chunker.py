"""What holds for every text, language and budget."""

from itertools import pairwise

from codekernel.chunking.chunker import MIN_CHUNK_CHARS, chunk_text
from codekernel.chunking.grammar import list_languages
from codekernel.domain.index import Chunk
from hypothesis import given, settings
from hypothesis import strategies as st

LANGUAGES = sorted([*list_languages(), "markdown", "rst", "notebook", "text"])
# Pieces of many languages, so that random texts have something like syntax in them.
WORDS = [
    *" \n\r\t{}()[];:,.#\"'`=<>-ab\x00\x0b\x0c\u2028\ufeff",
    *["\n", "\n\n", "\r\n", "\u00e9", "\u4f60", "\U0001f600", "\ud800", "\udc00"],
    *[
        "def f():\n",
        "class A {\n",
        "function f() {\n",
        "}\n",
        "fn a() {}\n",
        "end\n",
        "    x = 1\n",
    ],
    *["# h\n", "## i\n", "```\n", "===\n", "---\n", "// c\n", '{"cells": [\n', '{"a": 1},\n'],
    *["<script>\n", "</script>\n", "<template>\n", "defmodule A do\n", "a: 1\n", "[t]\n"],
]
texts = st.lists(st.sampled_from(WORDS), max_size=60).map("".join) | st.text(max_size=80)
budgets = st.lists(st.integers(1, 60), min_size=1, max_size=3)


@settings(deadline=None, max_examples=settings.default.max_examples * 4)
@given(text=texts, language=st.sampled_from(LANGUAGES), lengths=budgets)
def test_chunks_cover_a_text_exactly_within_their_budgets(
    text: str, language: str, lengths: list[int]
) -> None:
    for length, chunks in zip(lengths, chunk_text(text, language, lengths), strict=True):
        assert "".join(text[chunk.begin : chunk.end] for chunk in chunks) == text
        for chunk in chunks:
            assert 0 < chunk.end - chunk.begin <= max(length, MIN_CHUNK_CHARS)
            assert_lines_are_exact(text, chunk)
            assert_pairs_are_whole(text, chunk)
        assert_bounds_are_line_starts(text, chunks, length)
        assert_white_space_stands_alone_only_without_room(text, chunks, length)


@settings(deadline=None)
@given(text=texts, language=st.sampled_from(LANGUAGES), lengths=budgets)
def test_a_budget_is_cut_the_same_way_whatever_other_budgets_there_are(
    text: str, language: str, lengths: list[int]
) -> None:
    for length, chunks in zip(lengths, chunk_text(text, language, lengths), strict=True):
        [alone] = chunk_text(text, language, [length])
        assert [(one.begin, one.end) for one in alone] == [(one.begin, one.end) for one in chunks]


def test_an_empty_text_has_no_chunks_and_no_budgets_give_no_lists() -> None:
    assert chunk_text("", "python", [100, 200]) == [[], []]
    assert chunk_text("x = 1\n", "python", []) == []


def test_a_text_of_white_space_is_one_chunk() -> None:
    assert chunk_text(" \n\n\t\n", "python", [100]) == [[Chunk(0, 3, 0, 5)]]


def test_a_larger_budget_makes_fewer_chunks() -> None:
    text = "".join(f"def f{number}():\n    return {number}\n\n\n" for number in range(50))
    small, large = chunk_text(text, "python", [100, 1000])
    assert len(small) > 4 * len(large)


def assert_lines_are_exact(text: str, chunk: Chunk) -> None:
    assert chunk.begin_line == text.count("\n", 0, chunk.begin)
    ends_a_line = text[chunk.end - 1] == "\n"
    assert chunk.end_line == text.count("\n", 0, chunk.end) + (not ends_a_line)


def assert_pairs_are_whole(text: str, chunk: Chunk) -> None:
    around = text[chunk.end - 1 : chunk.end + 1]
    assert around != "\r\n"
    assert not (around[:1] == "\ud800" and around[1:] == "\udc00")


def assert_bounds_are_line_starts(text: str, chunks: list[Chunk], length: int) -> None:
    for chunk in chunks[1:]:
        if text[chunk.begin - 1] != "\n":
            line_begin = text.rfind("\n", 0, chunk.begin) + 1
            line_end = text.find("\n", chunk.begin) + 1 or len(text)
            assert line_end - line_begin > max(length, MIN_CHUNK_CHARS)


def assert_white_space_stands_alone_only_without_room(
    text: str, chunks: list[Chunk], length: int
) -> None:
    for chunk, following in pairwise(chunks):
        blank = [not text[one.begin : one.end].strip() for one in (chunk, following)]
        whole = [is_whole(text, one) for one in (chunk, following)]
        if any(blank) and all(whole):
            assert following.end - chunk.begin > length


def is_whole(text: str, chunk: Chunk) -> bool:
    """Whether a chunk begins and ends with lines, rather than inside of one."""
    begins = not chunk.begin or text[chunk.begin - 1] == "\n"
    return begins and (chunk.end == len(text) or text[chunk.end - 1] == "\n")
