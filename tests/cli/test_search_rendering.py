"""Which lines and words are shown, how they are coloured, cut and made safe."""

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel.cli.search_output import Page, reasons
from kernel.cli.search_progress import Bar, Reached, bar_line, duration
from kernel.cli.search_snippet import MOST_LINES, snippet, wanted
from kernel.cli.search_syntax import spans
from kernel.cli.search_terminal import COMMENT, KEYWORD, MATCH, STRING, Screen, columns
from kernel.domain.chunk import Chunk
from kernel.domain.hit import Hit
from kernel.domain.indexed import IndexedChunk
from kernel.domain.terminal_text import escape_line


def hit_of(content: str, language: str = "python") -> Hit:
    chunk = Chunk(0, content.count("\n") + 1, 0, len(content))
    return Hit(IndexedChunk(1, "file.py", language, 750, 1, chunk), content, 0.5, "fresh")


def marked(content: str, query: str) -> list[str]:
    found = snippet(content, 0, wanted(query)).marks
    return [content[mark.begin : mark.end] for mark in found]


def test_words_are_marked_by_their_stem_and_inside_names() -> None:
    text = "parseHeader(raw_header) target get_user"
    assert marked(text, "parsing the headers") == ["parse", "Header", "header"]
    assert marked(text, "get") == ["get"]
    assert marked(text, "getUser") == ["get_user"]


def test_exact_strings_patterns_and_chinese_are_marked() -> None:
    assert marked("a b  c", '"b  c"') == ["b  c"]
    assert marked("x1 y22", r"/\d+/") == ["1", "22"]
    assert marked("# 关闭用户会话", "会话") == ["会话"]


def test_filters_are_not_looked_for_in_the_text() -> None:
    assert marked("python header", "lang:python header") == ["header"]


def test_the_lines_with_most_words_are_shown_and_the_best_is_jumped_to() -> None:
    content = "\n".join(["\n", *(f"line {n}" for n in range(30)), "alpha", "alpha beta", "\n"])
    found = snippet(content, 100, wanted("alpha beta"))
    assert len(found.lines) == MOST_LINES
    assert found.best == 100 + 2 + 30 + 2
    assert found.lines[-1].text == "alpha beta"


def test_without_a_word_in_common_the_first_lines_are_shown() -> None:
    found = snippet("\n\none\r\ntwo\n", 0, wanted("zeppelin"))
    assert [(line.number, line.text) for line in found.lines] == [(3, "one"), (4, "two")]
    assert found.best == 3
    assert snippet("\n \n", 4, wanted("x")).lines == ()


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("python", "if x: # no", [("if", KEYWORD), ("# no", COMMENT)]),
        ("python", "'''a\nb''' c", [("'''a\nb'''", STRING)]),
        ("rust", "fn f<'a>(x: &'a str)", [("fn", KEYWORD)]),
        (
            "c",
            "'\\n' /* a\nb */ \"x\"",
            [("'\\n'", STRING), ("/* a\nb */", COMMENT), ('"x"', STRING)],
        ),
        ("go", 'a := "http://x" // y', [('"http://x"', STRING), ("// y", COMMENT)]),
        ("sql", "SELECT a -- b", [("SELECT", KEYWORD), ("-- b", COMMENT)]),
        ("markdown", "if # 'x'", []),
    ],
)
def test_syntax_is_coloured_lightly(
    language: str, text: str, expected: list[tuple[str, str]]
) -> None:
    assert [(text[begin:end], code) for begin, end, code in spans(text, language)] == expected


def test_a_long_line_is_cut_around_its_first_match() -> None:
    line = "x" * 500 + " needle " + "y" * 500
    page = Page(Path.cwd(), wanted("needle"), Screen(width=60), explain=False)
    _, shown = page.lines([hit_of(line)])
    assert "needle" in shown
    assert columns(shown) <= 60
    assert shown.startswith("  1 …")
    assert shown.endswith("…")


@given(st.text(max_size=120), st.integers(min_value=20, max_value=100))
def test_whatever_a_file_holds_fits_the_terminal_and_commands_nothing(
    content: str, width: int
) -> None:
    page = Page(Path.cwd(), wanted("a"), Screen(width=width), explain=False)
    lines = list(page.lines([hit_of(content)]))[1:]
    assert all(columns(line) <= width for line in lines)
    assert all(line == escape_line(line) for line in lines)


def test_colours_change_nothing_but_colours() -> None:
    content = "def f(x):\n\treturn 'needle' # note\n"
    plain, coloured = (
        list(Page(Path.cwd(), wanted("needle"), screen, explain=False).lines([hit_of(content)]))
        for screen in (Screen(), Screen(colours=True))
    )
    codes = {f"\x1b[{code}m" for code in ("0", "32", "35", MATCH, KEYWORD, STRING, COMMENT)}
    stripped = "\n".join(coloured)
    for code in codes:
        stripped = stripped.replace(code, "")
    assert stripped == "\n".join(plain)


def test_reasons_have_shares_and_the_weightiest_comes_first() -> None:
    told = reasons({"words": 0.25, "meaning": 0.75, "kind of file": -0.5, "tiny": 0.0001})
    assert [each.split()[0] for each in told] == ["+75%", "-50%", "+25%"]
    assert "less because" in told[1]
    assert reasons({}) == []
    assert reasons({"new signal": 1.0}) == ["+100% because new signal"]


class TerminalText(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_bar_tells_files_chunks_and_the_time_left_and_never_goes_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("WT_SESSION", "1")  # what Windows needs
    times = iter([0.0, 0.1, 10.0, 20.0, 21.0])
    stream = TerminalText()
    bar = Bar(stream, clock=lambda: next(times))
    bar.show(Reached(0, 8, 0, 0.0))
    assert stream.getvalue() == ""  # too early to disturb
    bar.show(Reached(4, 8, 90, 0.5))
    bar.show(Reached(3, 9, 95, 0.4))
    bar.show(Reached(8, 9, 95, 2.0))
    bar.clear()
    first, second, third, last = stream.getvalue().split("\r\x1b[K")[1:]
    assert first == "indexing [##########----------]  50% 4/8 files, 90 chunks, 10 s left"
    assert second == "indexing [##########----------]  50% 4/9 files, 95 chunks, 20 s left"
    assert " 100% 8/9 files" in third
    assert last == ""
    assert max(map(len, (first, second, third))) < 80


def test_no_bar_where_a_line_cannot_be_redrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    for stream in (TerminalText(), io.StringIO()):
        bar = Bar(stream, clock=iter([0.0, 9.0]).__next__)
        bar.show(Reached(1, 2, 3, 0.5))
        bar.clear()
        assert stream.getvalue() == ""


def test_times_are_told_as_people_tell_them() -> None:
    assert [duration(seconds) for seconds in (0.2, 59, 90, 5400)] == [
        "1 s",
        "59 s",
        "2 min",
        "1.5 h",
    ]
    assert "left" not in bar_line(1.0, 1, Reached(1, 1, 1, 1.0), 5.0)
