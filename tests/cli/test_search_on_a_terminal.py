"""``codekernel search`` on a pseudo-terminal: colours, links, the progress bar, Ctrl-C."""

import re
import signal
import sys
from pathlib import Path

import pytest
from support.command_line import Terminal, codekernel

if sys.platform == "win32":
    pytest.skip("Windows has no pseudo-terminals of this kind", allow_module_level=True)

BAR = re.compile(r"indexing \[#*-*\] +(\d+)% (\d+)/(\d+) files, \d+ chunks")
CLEARED = "\r\x1b[K"


@pytest.fixture
def project(repo: Path) -> Path:
    (repo / "headers.py").write_text(
        "def parsed(header):\n    return 'none'  # yet\n", encoding="utf-8"
    )
    return repo


def shown(user_data: Path, project: Path, *words: str, **environ: str) -> str:
    with Terminal(user_data, project, "search", "--words", "header", *words, **environ) as terminal:
        code, text = terminal.finish()
    assert code == 0
    return text


def test_a_terminal_gets_colours_for_places_matches_and_syntax(
    user_data: Path, project: Path
) -> None:
    text = shown(user_data, project)
    assert "\x1b[35mheaders.py\x1b[0m:\x1b[32m1\x1b[0m" in text
    assert "\x1b[36mdef\x1b[0m parsed(\x1b[1;31mheader\x1b[0m):" in text
    assert "\x1b[33m'none'\x1b[0m  \x1b[2m# yet\x1b[0m" in text
    assert "\x1b]8;" not in text


@pytest.mark.parametrize(
    ("words", "environ"),
    [
        (["--no-color"], {}),
        pytest.param([], {"NO_COLOR": "1"}, marks=pytest.mark.slow),
        pytest.param([], {"TERM": "dumb"}, marks=pytest.mark.slow),
    ],
)
def test_colors_can_be_switched_off(
    user_data: Path, project: Path, words: list[str], environ: dict[str, str]
) -> None:
    text = shown(user_data, project, *words, **environ)
    results = text.rpartition(CLEARED)[2]  # a slow machine shows the bar first
    assert "headers.py:1" in results
    assert "\x1b" not in results


def test_a_terminal_that_opens_links_gets_them(user_data: Path, project: Path) -> None:
    link = f"\x1b]8;;{(project / 'headers.py').as_uri()}\x1b\\"
    assert link in shown(user_data, project, TERM="xterm-kitty")
    assert link not in shown(user_data, project, TERM="xterm-kitty", TMUX="socket,1,0")


@pytest.mark.slow
def test_the_first_search_shows_a_bar_that_never_goes_back_and_is_taken_away(
    user_data: Path, project: Path
) -> None:
    with Terminal(user_data, project, "search", "header") as terminal:
        code, text = terminal.finish()
    assert code == 0
    bars = [tuple(map(int, found.groups())) for found in BAR.finditer(text)]
    assert bars
    assert bars == sorted(bars)
    before, _, results = text.rpartition(CLEARED)
    assert "indexing" in before
    assert results.startswith("\x1b[35mheaders.py")


@pytest.mark.slow
def test_ctrl_c_while_indexing_ends_quietly_and_leaves_the_index_intact(
    user_data: Path, project: Path
) -> None:
    for number in range(2000):  # seconds of work, however quick the machine
        text = "".join(f"def f{number}_{line}():\n    return {line}\n\n\n" for line in range(60))
        (project / f"m{number}.py").write_text(text, encoding="utf-8")
    with Terminal(user_data, project, "search", "header") as terminal:
        terminal.read_until(lambda text: "indexing [" in text)
        terminal.process.send_signal(signal.SIGINT)
        code, text = terminal.finish()
    assert code == 130
    assert "Traceback" not in text
    assert text.endswith(CLEARED)
    done = codekernel(user_data, project, "search", "--words", "--files", "parsed")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == "headers.py"
