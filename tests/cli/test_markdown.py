"""Markdown on a terminal: what it looks like, and that it looks the same however it arrives."""

import re
from itertools import pairwise

import pytest
from codekernel.cli.output.markdown import MarkdownWriter, make_answer_writer
from codekernel.cli.output.terminal import TerminalStyle
from hypothesis import given
from hypothesis import strategies as st

COLOURED = TerminalStyle(has_colors=True, width=40)
CODES = re.compile(r"\x1b\[[\d;]*m")
SIGNS = "# |## |- |* |1. |> |```|```py|~~~|`|``|*|**|***|[|](|)|\\|---| |  |word|a_b|'x'|# c|def"
PIECES = [
    *SIGNS.split("|"),
    "|",
    "\n",
    "\n\n",
    "\r\n",
    "\t",
    "x" * 60,
    "\x1b[31m",
    ".",
    "2",
    "漢字",
]
MARKDOWN = st.lists(st.sampled_from(PIECES), max_size=40).map("".join)


def shown(*pieces: str, style: TerminalStyle = COLOURED) -> str:
    writer = make_answer_writer(style)
    return "".join([*map(writer.feed, pieces), writer.end()])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# A title\n", "<1;36>A</> <1;36>title</>\n"),
        ("a **bold** word\n", "a <1>bold</> word\n"),
        ("**a *b*** c **open\nd", "<1>a</> <1;3>b</> c <1>open</>\nd\n"),
        ("*so*, and 2 * 3 * 4, a_b_c\n", "<3>so</>, and 2 * 3 * 4, a_b_c\n"),
        ("call `f(x)`.", "call <33>f(x)</>.\n"),
        ("``a`b`` and `open", "<33>a`b</> and `open\n"),
        ("- one\n  - two\n10. ten\n", "<32>- </>one\n<32>  - </>two\n<32>10. </>ten\n"),
        ("> said", "<2>> </>said\n"),
        ("see [here](http://a)", "see here <2>(http://a)</>\n"),
        ("[1] and a[0](x y)", "[1] and a[0](x y)\n"),
        (r"\*not\* a\b", "*not* a\\b\n"),
        ("a\n\n\n\nb", "a\n\nb\n"),
        ("| a | b |\n|---|---|\n", "| a | b |\n|---|---|\n"),
        ("a\n---\n--- x", "a\n<2>----------------------------------------</>\n--- x\n"),
        ("```py\ndef f(): # c\n\tx\n```\nend", "  <36>def</> f(): <2># c</>\n      x\nend\n"),
        ("```\nplain # text", "  plain # text\n"),
        ("```c++\nint x; // y\n```", "  int x; <2>// y</>\n"),
        ('```py\n"""a\nif b"""\nif c:', '  <33>"""a</>\n  <33>if b"""</>\n  <36>if</> c:\n'),
        ("", ""),
    ],
)
def test_each_part_has_its_look(text: str, expected: str) -> None:
    codes = re.sub(r"<([\d;]+)>", "\x1b[\\1m", expected).replace("</>", "\x1b[0m")
    assert shown(text) == codes


def test_words_are_wrapped_between_words_and_hang_below_their_item() -> None:
    text = shown("- " + "word " * 20)
    lines = CODES.sub("", text).splitlines()
    assert all(len(line) <= 40 for line in lines)
    assert [line[:2] for line in lines] == ["- ", "  ", "  "]
    wide = shown("漢" * 50).splitlines()
    assert [len(line) for line in wide] == [20, 20, 10]
    long = shown("a " + "x" * 100 + " b").splitlines()
    assert long == ["a", "x" * 100, "b"]


def test_what_is_certain_is_shown_at_once() -> None:
    writer = MarkdownWriter(COLOURED)
    assert writer.feed("It ") == "It"
    assert writer.feed("is") == ""
    assert writer.feed(" `clo") == " is"
    assert writer.feed("sed` in") == " \x1b[33mclosed\x1b[0m"
    assert writer.feed("\n```py\nx = 1") == " in\n"
    assert writer.feed("\ny") == "  x = 1\n"


def test_without_colours_the_answer_stays_as_it_was_written() -> None:
    assert shown("# A\n\n- `b`\tc", style=TerminalStyle()) == "# A\n\n- `b`\tc\n"
    assert shown("a\n", style=TerminalStyle(width=10)) == "a\n"


@pytest.mark.parametrize("style", [COLOURED, TerminalStyle()])
def test_an_answer_cannot_give_orders_to_the_terminal(style: TerminalStyle) -> None:
    evil = "\x1b]0;owned\x07 `\x1b[2J` \u202e\n```py\n\x1b[31m\x9b\n```\n# \x1b[1m\n|\x1b[1m\n"
    text = CODES.sub("", shown(evil, style=style))
    assert not set("\x1b\x07\u202e\x9b") & set(text)
    assert "\\x1b]0;owned\\x07" in text


@given(text=MARKDOWN, data=st.data())
def test_it_looks_the_same_however_it_arrives(text: str, data: st.DataObject) -> None:
    cuts = data.draw(st.lists(st.integers(0, len(text)), max_size=12))
    places = [0, *sorted(cuts), len(text)]
    assert shown(*(text[a:b] for a, b in pairwise(places))) == shown(text)
    assert shown(*text) == shown(text)
