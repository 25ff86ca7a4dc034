"""Text as the Markdown of a card: tags, sizes, pieces."""

import json
import re

import pytest
from codekernel.adapters.lark.card_markdown import (
    count_tables,
    escape_tags,
    format_code_block,
    format_inline_code,
    measure_text,
    take_piece,
    truncate_middle,
)
from hypothesis import example, given
from hypothesis import strategies as st

ALPHABET = st.sampled_from(
    ["a", "é", "語", "😀", '"', "\\", "\n", "\n\n", "<", ">", "`", "| ", "```\n", "\ud800"]
)
TEXTS = st.lists(ALPHABET, max_size=200).map("".join)


def strip_fences(text: str) -> str:
    """Return the text without what splitting adds: fences and line ends."""
    return re.sub(r"(?m)^`{3,}.*$|\s", "", text)


def split_whole(text: str, max_bytes: int, max_tables: int = 3) -> list[str]:
    pieces = []
    while text.strip():
        piece, text = take_piece(text, max_bytes, max_tables)
        assert piece, "nothing fits"
        pieces.append(piece)
    return pieces


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a < b > c", "a &#60; b &#62; c"),
        ("<at id=all></at>", "&#60;at id=all&#62;&#60;/at&#62;"),
        ("> quoted <b>", "> quoted &#60;b&#62;"),
        ("use `Vec<T>` or <T>", "use `Vec<T>` or &#60;T&#62;"),
        ("```rust\nVec<T> -> u8\n```\n<T>", "```rust\nVec<T> -> u8\n```\n&#60;T&#62;"),
        ("`<at id=all>`", "`<\u200bat id=all>`"),
        ("```\n<AT id=all></at>\n```", "```\n<\u200bAT id=all><\u200b/at>\n```"),
        ("![plan](https://x.y/z.png)", "[plan](https://x.y/z.png)"),
        ("half \ud800 pair", "half ? pair"),
    ],
)
def test_tags_do_not_act_and_code_stays_code(text: str, shown: str) -> None:
    assert escape_tags(text) == shown


def test_an_unclosed_code_block_stays_code_to_its_end() -> None:
    assert escape_tags("```\na < b") == "```\na < b"


@given(TEXTS)
def test_the_size_is_that_of_json_inside_of_json(text: str) -> None:
    text = text.encode("utf-8", "replace").decode()
    inner = json.dumps({"content": text}, ensure_ascii=False)
    empty = json.dumps({"content": json.dumps({"content": ""})})
    outer = json.dumps({"content": inner}, ensure_ascii=False)
    assert measure_text(text) == len(outer.encode()) - len(empty)


@given(TEXTS, st.integers(120, 600))
@example("```\n" + "x" * 500, 120)
def test_no_word_is_lost_and_no_piece_is_too_large(text: str, max_bytes: int) -> None:
    text = escape_tags(text)
    pieces = split_whole(text, max_bytes)
    assert all(measure_text(piece) <= max_bytes for piece in pieces)
    assert strip_fences("\n".join(pieces)) == strip_fences(text)


def test_a_text_is_split_between_paragraphs() -> None:
    text = "\n\n".join(f"paragraph {number} " + "x" * 80 for number in range(9))
    pieces = split_whole(text, 500)
    assert len(pieces) > 1
    assert all(piece.startswith("paragraph") for piece in pieces)


def test_a_code_block_that_is_cut_is_closed_and_opened_again() -> None:
    code = "\n".join(f"line {number}" for number in range(100))
    pieces = split_whole(f"before\n```python\n{code}\n```\nafter", 400)
    assert all(piece.count("```") % 2 == 0 for piece in pieces)
    assert all(piece.startswith("```python\n") for piece in pieces[1:])
    lines = [line for piece in pieces for line in piece.split("\n") if line.startswith("line")]
    assert lines == code.split("\n")


def test_an_entity_is_never_cut() -> None:
    pieces = split_whole(escape_tags("<" * 400), 200)
    assert "".join(pieces) == "&#60;" * 400
    assert all(piece.endswith(";") for piece in pieces)


def test_tables_are_counted_outside_of_code_and_go_to_the_next_piece() -> None:
    table = "| a | b |\n|---|---|\n| 1 | 2 |"
    text = "\n\n".join([table] * 5)
    assert count_tables(text) == 5
    assert count_tables(f"```\n{text}\n```") == 0
    assert count_tables("a | b\nno rule") == 0
    pieces = split_whole(text, 10_000, max_tables=2)
    assert [count_tables(piece) for piece in pieces] == [2, 2, 1]


def test_the_middle_of_a_long_text_is_left_out_and_counted() -> None:
    short = truncate_middle("begin" + '"' * 1_000_000 + "end", 2_000)
    assert short.startswith("begin")
    assert short.endswith("end")
    assert measure_text(short) <= 2_000
    left_out = int(re.search(r"… ([\d,]+) characters left out …", short)[1].replace(",", ""))  # type: ignore[index]
    assert (
        len(short.replace(f"\n… {left_out:,} characters left out …\n", "")) + left_out == 1_000_008
    )
    assert truncate_middle("short", 2_000) == "short"


def test_code_cannot_end_its_own_block() -> None:
    assert format_code_block("a\n```\nb", "diff") == "````diff\na\n```\nb\n````"
    assert len(format_code_block("`" * 5_000, "json")) < 5_100
    assert format_inline_code("a `b`\nc") == "`a 'b' c`"
    assert format_inline_code("") == ""
