"""Completion scripts are up to date, and each shell completes with its own."""

import importlib.util
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from codekernel.cli.arguments import SHELLS
from codekernel.cli.commands.man import COMPLETIONS_FOLDER
from support.command_line import TerminalScreen, codekernel

ROOT = Path(__file__).parents[2]
SCRIPTS = {shell: (COMPLETIONS_FOLDER / shell).read_text(encoding="utf-8") for shell in SHELLS}


@pytest.mark.parametrize("shell", SHELLS)
def test_the_scripts_are_up_to_date(shell: str) -> None:
    file = ROOT / "scripts" / "make_completions.py"
    spec = importlib.util.spec_from_file_location("make_completions", file)
    assert spec
    assert spec.loader
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    assert SCRIPTS[shell] == maker.make_script(shell), "run python scripts/make_completions.py"


@pytest.mark.parametrize("shell", SHELLS)
def test_the_command_prints_the_script(user_data: Path, repo: Path, shell: str) -> None:
    done = codekernel(user_data, repo, "completion", shell)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", SCRIPTS[shell])
    assert codekernel(user_data, repo, "completion", "csh").returncode == 2


TYPED = pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("codekernel se", ["search", "serve"]),
        ("codekernel search --fil", ["--files"]),
        ("codekernel search serve --ac", ["--accuracy"]),
        ("codekernel search --repo my", ["my folder"]),
        ("codekernel search --limit ", []),
        ("codekernel web my", ["my folder"]),
        ("codekernel web --no", ["--no-browser"]),
        ("codekernel doctor w", ["why"]),
        ("codekernel doctor why fi", ["file.py"]),
        ("codekernel doctor --user-data my", ["my folder"]),
        ("codekernel completion z", ["zsh"]),
    ],
)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where something is typed."""
    folder = tmp_path / "place"
    (folder / "my folder").mkdir(parents=True)
    (folder / "file.py").touch()
    return folder


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not installed")
@TYPED
def test_bash_completes(place: Path, typed: str, expected: list[str]) -> None:
    words = typed.split(" ")
    quoted = " ".join(f"'{word}'" for word in words)
    script = (
        f"{SCRIPTS['bash']}\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}\n"
        '_shtab_codekernel; [[ ${#COMPREPLY[@]} == 0 ]] || printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    done = subprocess.run(
        [str(shutil.which("bash")), "--norc", "-c", script],
        cwd=place,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout.splitlines(), done.stderr) == (expected, "")


@pytest.mark.skipif(not shutil.which("fish"), reason="fish is not installed")
@TYPED
def test_fish_completes(tmp_path: Path, place: Path, typed: str, expected: list[str]) -> None:
    (tmp_path / "script").write_text(SCRIPTS["fish"], encoding="utf-8")
    done = subprocess.run(
        [
            str(shutil.which("fish")),
            "--no-config",
            "-c",
            f"source ../script; complete -C '{typed}'",
        ],
        cwd=place,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    found = [line.partition("\t")[0].rstrip("/") for line in done.stdout.splitlines()]
    assert (found, done.stderr) == (expected, "")


# Ctrl-T lists what Tab would offer. The line editor says that it is there by this escape.
ZSH_SETUP = """\
PS1=; unsetopt prompt_cr prompt_sp; autoload -U compinit; compinit -u -D
source ../script; bindkey '^T' list-choices; print REA''DY
"""
ZSH_EDITS = "\x1b[?2004h"


@pytest.mark.slow  # compinit reads a thousand functions each time
@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
@TYPED
def test_zsh_completes(tmp_path: Path, place: Path, typed: str, expected: list[str]) -> None:
    (tmp_path / "script").write_text(SCRIPTS["zsh"], encoding="utf-8")
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TERM": "dumb"}
    with TerminalScreen(["zsh", "-f", "-i"], place, environ) as screen:
        screen.type(ZSH_SETUP)
        screen.read_until(lambda text: ZSH_EDITS in text.partition("READY")[2])
        screen.type(f"{typed}\x14")  # Ctrl-T
        screen.type("\x15exit\n")  # Ctrl-U
        _, text = screen.finish()
    shown = text.partition("READY")[2].partition(ZSH_EDITS)[2].partition(typed)[2]
    listed = shown.rpartition(typed)[0].replace("\\ ", " ").splitlines()
    found = [line.partition("  --")[0].strip().rstrip("/") for line in listed if line.strip()]
    assert found == expected


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_shell_itself_finds_no_fault_with_the_script(tmp_path: Path, shell: str) -> None:
    program = shutil.which(shell)
    if not program:
        pytest.skip(f"{shell} is not installed")
    script = tmp_path / "script"
    script.write_text(SCRIPTS[shell], encoding="utf-8")
    done = subprocess.run([program, "-n", str(script)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
