"""What holds for every text, language and budget, and where chunks begin."""

from itertools import pairwise

import pytest
from chunking.samples import LANGUAGES
from codekernel.chunking.chunker import MIN_CHUNK_CHARS, chunk_text
from codekernel.domain.index import Chunk
from hypothesis import given, settings
from hypothesis import strategies as st

EVERY_LANGUAGE = sorted([*LANGUAGES, "markdown", "rst", "notebook", "text"])
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


@settings(deadline=None, max_examples=settings().max_examples * 4)
@given(text=texts, language=st.sampled_from(EVERY_LANGUAGE), lengths=budgets)
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
@given(text=texts, language=st.sampled_from(EVERY_LANGUAGE), lengths=budgets)
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


FUNCTION = "def f{0}(a):\n    b = a + {0}\n    return b\n\n\n"


def contents(text: str, language: str, budget: int) -> list[str]:
    [chunks] = chunk_text(text, language, [budget])
    return [text[chunk.begin : chunk.end] for chunk in chunks]


def chunk_with(words: str, text: str, chunks: list[Chunk]) -> Chunk:
    [found] = [chunk for chunk in chunks if words in text[chunk.begin : chunk.end]]
    return found


def test_small_neighbours_share_a_chunk_and_none_is_cut() -> None:
    text = "".join(FUNCTION.format(number) for number in range(9))
    parts = contents(text, "python", 150)
    assert [part.count("def ") for part in parts] == [3, 3, 3]
    assert all(part.endswith("return b\n\n\n") for part in parts)


def test_large_functions_stand_alone_though_two_would_fit_together() -> None:
    body = "".join(f"    line_{number} = {number}\n" for number in range(10))
    text = "\n\n".join(f"def f{number}():\n{body}" for number in range(3))
    [chunks] = chunk_text(text, "python", [450])
    assert [chunk.symbols for chunk in chunks] == [("f0",), ("f1",), ("f2",)]


def test_a_definition_of_exactly_the_budget_is_one_chunk() -> None:
    function = "def f():\n    return 12345\n"
    text = f"import a\n\n{function}\nx = 1\n"
    assert function in contents(text, "python", len(function))


def test_a_class_that_does_not_fit_is_cut_at_its_members() -> None:
    methods = "".join(
        f"    def m{number}(self):\n        return {number}\n\n" for number in range(6)
    )
    parts = contents(f"class A:\n{methods}", "python", 100)
    assert parts[0].startswith("class A:\n    def m0")
    assert all(part.strip().startswith(("class", "def")) for part in parts)


def test_comments_decorators_and_attributes_stay_with_what_they_precede() -> None:
    text = (
        "use a;\nuse b;\nuse c;\n\n"
        "/// Says something\n/// about it.\n#[inline]\n#[must_use]\nfn f() -> u8 {\n    1\n}\n"
    )
    assert contents(text, "rust", 90)[-1].startswith("/// Says something")


@pytest.mark.parametrize(
    "comment", ["/**\n{} */\n", "{}"], ids=["one comment", "a comment on each line"]
)
def test_a_comment_stays_with_a_function_that_does_not_fit_beside_it(comment: str) -> None:
    mark = " * " if "*" in comment else "// "
    described = comment.format("".join(f"{mark}says what it does, {n}.\n" for n in range(4)))
    body = "".join(f"    value = change(value, {number});\n" for number in range(8))
    function = f"int compute(int value) {{\n{body}}}\n"
    budget = max(len(described), len(function)) + 80
    assert len(described) + len(function) > budget
    parts = contents(f"int before() {{\n    return 1;\n}}\n\n{described}{function}", "c", budget)
    [holder] = [part for part in parts if "int compute" in part]
    assert described in holder
    assert "before" not in holder


def test_a_long_function_is_cut_between_statements_and_every_part_knows_its_name() -> None:
    lines = "".join(f"    if a == {number}:\n        return {number}\n" for number in range(20))
    text = f"class A:\n    x = 1\n\n\ndef long(a):\n{lines}"
    [chunks] = chunk_text(text, "python", [200])
    parts = [chunk for chunk in chunks if chunk.symbols == ("long",)]
    assert len(parts) > 2
    assert all(part.signature == "def long(a):" for part in parts)
    assert ["long" in part.defined_names for part in parts] == [True] + [False] * (len(parts) - 1)
    assert all(text[part.begin :].lstrip().startswith("if a ==") for part in parts[1:])


def test_a_function_with_its_imports_is_still_named_after_itself() -> None:
    body = "".join(f"    line_{number} = {number}\n" for number in range(9))
    [[chunk]] = chunk_text(f"import a\n\n\ndef f():\n{body}", "python", [1000])
    assert chunk.symbols == ("f",)


def test_a_class_behind_a_macro_and_what_follows_stray_braces_are_found() -> None:
    text = (
        "class SHOP_EXPORT Basket : public Priced {\n public:\n  SHOP_OBJECT\n"
        "  int count_;\n};\n} }\nint main() { return 0; }\n"
    )
    [chunks] = chunk_text(text, "cpp", [90])
    assert [name for chunk in chunks for name in chunk.defined_names] == ["Basket", "main"]
    assert chunk_with("SHOP_OBJECT", text, chunks).kind == "class"


def test_a_signature_of_several_lines_is_one_line_of_bounded_length() -> None:
    text = "def f(\n    a: int,\n    b: int,\n) -> None:\n    pass\n"
    [[chunk]] = chunk_text(text, "python", [1000])
    assert chunk.signature == "def f( a: int, b: int, ) -> None:"
    arguments = ", ".join(f"argument_{number}" for number in range(100))
    [[chunk]] = chunk_text(f"def f({arguments}):\n    pass\n", "python", [10_000])
    assert len(chunk.signature) == 200


def test_places_are_characters_though_parsers_count_bytes() -> None:
    text = (
        "# \u4f60\u597d \U0001f600\nx = '\u00e9\u00e9'\n\n\ndef gr\u00fc\u00dfe():\n    return x\n"
    )
    [chunks] = chunk_text(text, "python", [36])
    chunk = chunk_with("return", text, chunks)
    assert chunk.symbols == ("gr\u00fc\u00dfe",)
    assert chunk.signature == "def gr\u00fc\u00dfe():"
    assert (chunk.begin_line, chunk.end_line) == (4, 6)


def test_a_minified_line_is_cut_at_punctuation_and_still_has_names() -> None:
    text = "".join(f"function f{number}(){{return {number}}};" for number in range(40)) + "\n"
    [chunks] = chunk_text(text, "javascript", [100])
    assert all((chunk.begin_line, chunk.end_line) == (0, 1) for chunk in chunks)
    assert all(text[chunk.end - 1] in ";})\n, " for chunk in chunks)
    names = [name for chunk in chunks for name in chunk.defined_names]
    assert names == [f"f{number}" for number in range(40)]


def test_windows_line_ends_change_no_line_number() -> None:
    text = "".join(FUNCTION.format(number) for number in range(5))
    [unix], [windows] = (
        chunk_text(text, "python", [150]),
        chunk_text(text.replace("\n", "\r\n"), "python", [165]),
    )
    assert [(one.begin_line, one.end_line, one.defined_names) for one in windows] == [
        (one.begin_line, one.end_line, one.defined_names) for one in unix
    ]
