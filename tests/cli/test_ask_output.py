"""What stands around an answer: rounds in a line, sources with their marks, the bill."""

from pathlib import Path

import pytest

from kernel.cli.ask_output import bill, round_line, source_lines
from kernel.cli.search_terminal import Screen
from kernel.domain.turn import Citation, Holds, Outcome, Spent
from kernel.domain.turn_events import Done
from kernel.domain.usage import Price

CITED = (
    Citation("a.py:4-6", "a.py", 4, 6, Holds.VERIFIED),
    Citation("deep/b.py:7", "deep/b.py", 7, 7, Holds.MOVED, now_begin=17, now_end=17),
    Citation("c.py:1-2", "c.py", 1, 2, Holds.STALE, "the lines have changed since"),
    Citation("a.py:4-6", "a.py", 4, 6, Holds.VERIFIED),
)


def test_each_source_is_named_once_with_the_line_to_open_and_its_mark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert list(source_lines(CITED, tmp_path, Screen())) == [
        "Sources:\n",
        "- a.py:4 verified, lines 4-6",
        f"- {Path('deep/b.py')}:17 moved, cited as line 7",
        "- c.py:1 stale, lines 1-2: the lines have changed since",
    ]
    assert list(source_lines((), tmp_path, Screen())) == []
    _, first, moved, stale = source_lines(CITED, tmp_path, Screen(colours=True, links=True))
    assert (tmp_path / "a.py").as_uri() in first
    assert "\x1b[32mverified\x1b[0m, lines 4-6" in first
    assert "\x1b[33mmoved\x1b[0m, cited as line 7" in moved
    assert "\x1b[31mstale\x1b[0m, lines 1-2" in stale


def test_a_source_cannot_give_orders_to_the_terminal(tmp_path: Path) -> None:
    evil = Citation("x", "\x1b[2J.py", 1, 1, Holds.STALE, "\x1b[31m")
    assert "\x1b" not in "".join(source_lines([evil], tmp_path, Screen()))


def test_a_round_is_a_line() -> None:
    assert round_line("Who?", ["a", "b\nc"], ["x.py", "x.py", "y.py"]) == (
        'Who?: "a", "b c": 3 places in x.py, y.py'
    )
    many = round_line("Who?", ["w " * 100], [f"{n}.py" for n in range(9)])
    assert many.endswith('w...": 9 places in 0.py, 1.py, 2.py and 6 more')
    assert round_line("Who?", ["a"], []) == 'Who?: "a": nothing new'


def test_the_bill_says_what_was_kept_back_read_written_and_paid() -> None:
    spent = Spent(1_000_000, 500)
    assert list(bill(Done(Outcome.DONE, masked=2, spent=spent), Price(0.25, 2.0))) == [
        "2 secrets masked before anything was sent",
        "1000000 tokens read, 500 written, cost 0.2510",
    ]
    guessed = Done(Outcome.STOPPED, spent=Spent(10, 1, exact=False))
    assert list(bill(guessed, None)) == ["about 10 tokens read, 1 written"]
    assert list(bill(Done(Outcome.FAILED), None)) == []
