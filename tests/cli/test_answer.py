"""What stands around an answer: rounds in a line, sources with their marks, the bill."""

from pathlib import Path

import pytest
from codekernel.cli.output.answer import format_round, format_sources, format_usage
from codekernel.cli.output.terminal import TerminalStyle
from codekernel.domain.turn import Citation, CitationState, Price, TokenUsage, TurnOutcome
from codekernel.domain.turn_events import TurnDone

CITED = (
    Citation("a.py:4-6", "a.py", 4, 6, CitationState.VERIFIED),
    Citation("deep/b.py:7", "deep/b.py", 7, 7, CitationState.MOVED, now_begin=17, now_end=17),
    Citation("c.py:1-2", "c.py", 1, 2, CitationState.STALE, "the lines have changed since"),
    Citation("a.py:4-6", "a.py", 4, 6, CitationState.VERIFIED),
)


def test_each_source_is_named_once_with_the_line_to_open_and_its_mark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert list(format_sources(CITED, tmp_path, TerminalStyle())) == [
        "Sources:\n",
        "- a.py:4 verified, lines 4-6",
        f"- {Path('deep/b.py')}:17 moved, cited as line 7",
        "- c.py:1 stale, lines 1-2: the lines have changed since",
    ]
    assert list(format_sources((), tmp_path, TerminalStyle())) == []
    _, first, moved, stale = format_sources(
        CITED, tmp_path, TerminalStyle(has_colors=True, has_links=True)
    )
    assert (tmp_path / "a.py").as_uri() in first
    assert "\x1b[32mverified\x1b[0m, lines 4-6" in first
    assert "\x1b[33mmoved\x1b[0m, cited as line 7" in moved
    assert "\x1b[31mstale\x1b[0m, lines 1-2" in stale


def test_a_source_cannot_give_orders_to_the_terminal(tmp_path: Path) -> None:
    evil = Citation("x", "\x1b[2J.py", 1, 1, CitationState.STALE, "\x1b[31m")
    assert "\x1b" not in "".join(format_sources([evil], tmp_path, TerminalStyle()))


def test_a_round_is_a_line() -> None:
    assert format_round("Who?", ["a", "b\nc"], ["x.py", "x.py", "y.py"]) == (
        'Who?: "a", "b c": 3 places in x.py, y.py'
    )
    many = format_round("Who?", ["w " * 100], [f"{n}.py" for n in range(9)])
    assert many.endswith('w...": 9 places in 0.py, 1.py, 2.py and 6 more')
    assert format_round("Who?", ["a"], []) == 'Who?: "a": nothing new'


def test_the_bill_says_what_was_kept_back_read_written_and_paid() -> None:
    spent = TokenUsage(1_000_000, 500)
    assert list(
        format_usage(TurnDone(TurnOutcome.DONE, masked=2, spent=spent), Price(0.25, 2.0))
    ) == [
        "2 secrets masked before anything was sent",
        "1000000 tokens read, 500 written, cost 0.2510",
    ]
    guessed = TurnDone(TurnOutcome.STOPPED, spent=TokenUsage(10, 1, exact=False))
    assert list(format_usage(guessed, None)) == ["about 10 tokens read, 1 written"]
    assert list(format_usage(TurnDone(TurnOutcome.FAILED), None)) == []
