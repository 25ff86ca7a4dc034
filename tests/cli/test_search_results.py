"""Which lines and words are shown, how they are coloured, cut and made safe."""

import io
from pathlib import Path

import pytest
from codekernel.cli.output.progress_bar import (
    IndexingProgress,
    ProgressBar,
    format_duration,
    format_progress_bar,
)
from codekernel.cli.output.search_results import (
    MAX_SNIPPET_LINES,
    SearchResultPage,
    explain_signals,
    parse_highlight_terms,
    select_snippet,
)
from codekernel.cli.output.syntax_colors import find_syntax_spans
from codekernel.cli.output.terminal import (
    COMMENT_COLOR,
    KEYWORD_COLOR,
    MATCH_COLOR,
    STRING_COLOR,
    TerminalStyle,
    measure_width,
)
from codekernel.domain.index import Hit, Signal
from codekernel.domain.untrusted_text import escape_line
from hypothesis import given
from hypothesis import strategies as st
from support.indexed_chunks import indexed_chunk


def hit_of(content: str, language: str = "python") -> Hit:
    lines = content.count("\n") + 1
    chunk = indexed_chunk("file.py", end_line=lines, end=len(content), language=language)
    return Hit(chunk, content, 0.5, "fresh")


def marked(content: str, query: str) -> list[str]:
    found = select_snippet(content, 0, parse_highlight_terms(query)).matches
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
    found = select_snippet(content, 100, parse_highlight_terms("alpha beta"))
    assert len(found.lines) == MAX_SNIPPET_LINES
    assert found.best_line == 100 + 2 + 30 + 2
    assert found.lines[-1].text == "alpha beta"


def test_without_a_word_in_common_the_first_lines_are_shown() -> None:
    found = select_snippet("\n\none\r\ntwo\n", 0, parse_highlight_terms("zeppelin"))
    assert [(line.number, line.text) for line in found.lines] == [(3, "one"), (4, "two")]
    assert found.best_line == 3
    assert select_snippet("\n \n", 4, parse_highlight_terms("x")).lines == ()


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("python", "if x: # no", [("if", KEYWORD_COLOR), ("# no", COMMENT_COLOR)]),
        ("python", "'''a\nb''' c", [("'''a\nb'''", STRING_COLOR)]),
        ("rust", "fn f<'a>(x: &'a str)", [("fn", KEYWORD_COLOR)]),
        (
            "c",
            "'\\n' /* a\nb */ \"x\"",
            [("'\\n'", STRING_COLOR), ("/* a\nb */", COMMENT_COLOR), ('"x"', STRING_COLOR)],
        ),
        ("go", 'a := "http://x" // y', [('"http://x"', STRING_COLOR), ("// y", COMMENT_COLOR)]),
        ("sql", "SELECT a -- b", [("SELECT", KEYWORD_COLOR), ("-- b", COMMENT_COLOR)]),
        ("markdown", "if # 'x'", []),
    ],
)
def test_syntax_is_coloured_lightly(
    language: str, text: str, expected: list[tuple[str, str]]
) -> None:
    assert [
        (text[begin:end], code) for begin, end, code in find_syntax_spans(text, language)
    ] == expected


def test_a_long_line_is_cut_around_its_first_match() -> None:
    line = "x" * 500 + " needle " + "y" * 500
    page = SearchResultPage(
        Path.cwd(), parse_highlight_terms("needle"), TerminalStyle(width=60), explain=False
    )
    ((_, shown),) = page.format_blocks([hit_of(line)])
    assert "needle" in shown
    assert measure_width(shown) <= 60
    assert shown.startswith("  1 …")
    assert shown.endswith("…")


@given(st.text(max_size=120), st.integers(min_value=20, max_value=100))
def test_whatever_a_file_holds_fits_the_terminal_and_commands_nothing(
    content: str, width: int
) -> None:
    page = SearchResultPage(
        Path.cwd(), parse_highlight_terms("a"), TerminalStyle(width=width), explain=False
    )
    (lines,) = page.format_blocks([hit_of(content)])
    lines = lines[1:]
    assert all(measure_width(line) <= width for line in lines)
    assert all(line == escape_line(line) for line in lines)


def test_colours_change_nothing_but_colours() -> None:
    content = "def f(x):\n\treturn 'needle' # note\n"
    plain, coloured = (
        SearchResultPage(
            Path.cwd(), parse_highlight_terms("needle"), screen, explain=False
        ).format_blocks([hit_of(content)])[0]
        for screen in (TerminalStyle(), TerminalStyle(has_colors=True))
    )
    codes = {
        f"\x1b[{code}m"
        for code in ("0", "32", "35", MATCH_COLOR, KEYWORD_COLOR, STRING_COLOR, COMMENT_COLOR)
    }
    stripped = "\n".join(coloured)
    for code in codes:
        stripped = stripped.replace(code, "")
    assert stripped == "\n".join(plain)


def test_reasons_have_shares_and_the_weightiest_comes_first() -> None:
    explained = explain_signals(
        {
            Signal.LEXICAL: 0.25,
            Signal.SEMANTIC: 0.75,
            Signal.FILE_KIND: -0.5,
            Signal.FOLDER: 0.0001,
        }
    )
    assert [each.split()[0] for each in explained] == ["+75%", "-50%", "+25%"]
    assert "less because" in explained[1]
    assert explain_signals({}) == []


class TerminalText(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_bar_shows_files_chunks_and_the_time_left_and_never_decreases() -> None:
    environ = {"TERM": "xterm", "WT_SESSION": "1"}  # the latter is what Windows needs
    times = iter([0.0, 0.1, 10.0, 20.0, 21.0])
    stream = TerminalText()
    bar = ProgressBar(stream, lambda: next(times), environ)
    bar.show(IndexingProgress(0, 8, 0, 0.0))
    assert stream.getvalue() == ""  # too early to disturb
    bar.show(IndexingProgress(4, 8, 90, 0.5))
    bar.show(IndexingProgress(3, 9, 95, 0.4))
    bar.show(IndexingProgress(8, 9, 95, 2.0))
    bar.clear()
    first, second, third, last = stream.getvalue().split("\r\x1b[K")[1:]
    assert first == "indexing [##########----------]  50% 4/8 files, 90 chunks, 10 s left"
    assert second == "indexing [##########----------]  50% 4/9 files, 95 chunks, 20 s left"
    assert " 100% 8/9 files" in third
    assert last == ""
    assert max(map(len, (first, second, third))) < 80


def test_no_bar_where_a_line_cannot_be_redrawn() -> None:
    for stream in (TerminalText(), io.StringIO()):
        bar = ProgressBar(stream, iter([0.0, 9.0]).__next__, {"TERM": "dumb"})
        bar.show(IndexingProgress(1, 2, 3, 0.5))
        bar.clear()
        assert stream.getvalue() == ""


def test_durations_are_formatted_in_the_largest_unit() -> None:
    assert [format_duration(seconds) for seconds in (0.2, 59, 90, 5400)] == [
        "1 s",
        "59 s",
        "2 min",
        "1.5 h",
    ]
    assert "left" not in format_progress_bar(1.0, 1, IndexingProgress(1, 1, 1, 1.0), 5.0)
