"""Completion scripts know every command and option, and each shell completes with its own."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from codekernel.cli.arguments import build_parser
from codekernel.cli.commands.completion import (
    format_bash_script,
    format_fish_script,
    format_zsh_script,
    read_command_tree,
)
from support.command_line import Screen, codekernel

TREE = read_command_tree(build_parser())


def test_the_tree_has_what_the_parser_has() -> None:
    ways = {" ".join(command.words) for command in TREE.walk()}
    assert {"", "search", "serve", "web", "models", "doctor", "doctor why", "completion"} <= ways
    (search,) = (command for command in TREE.walk() if command.name == "search")
    flags = {flag for option in search.options for flag in option.flags}
    assert {"--repo", "--limit", "--json", "--files", "--explain", "--no-color"} <= flags
    values = {option.flags[-1]: option.value for option in search.options}
    assert (values["--repo"], values["--limit"], values["--json"]) == ("DIR", "N", "")


@pytest.mark.parametrize("script", [format_bash_script, format_zsh_script])
def test_every_command_and_every_option_is_in_the_script(script: object) -> None:
    assert callable(script)
    text = script(TREE)
    for command in TREE.walk():
        assert command.name in text
        for option in command.options:
            assert all(flag in text for flag in option.flags)


def test_every_command_and_every_option_is_in_the_script_of_fish() -> None:
    lines = format_fish_script(TREE).splitlines()
    for command in TREE.walk():
        here = [line for line in lines if all(f"_from {word}" in line for word in command.words)]
        for inner in command.commands:
            assert any(f"-a {inner.name} " in line for line in here)
        for option in command.options:
            assert any(f"-l {option.flags[-1][2:]}" in line for line in here)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_command_prints_the_script(user_data: Path, repo: Path, shell: str) -> None:
    done = codekernel(user_data, repo, "completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert (
        done.stdout
        == {"bash": format_bash_script, "zsh": format_zsh_script, "fish": format_fish_script}[
            shell
        ](TREE)
        + "\n"
    )
    assert codekernel(user_data, repo, "completion", "csh").returncode == 2


TYPED = pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("codekernel se", ["search", "serve"]),
        ("codekernel search --fi", ["--files"]),
        ("codekernel search serve --a", ["--accuracy"]),
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
        f"{format_bash_script(TREE)}\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}\n"
        '_codekernel; [[ ${#COMPREPLY[@]} == 0 ]] || printf "%s\\n" "${COMPREPLY[@]}"\n'
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
    (tmp_path / "script").write_text(format_fish_script(TREE), encoding="utf-8")
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
    (tmp_path / "script").write_text(format_zsh_script(TREE), encoding="utf-8")
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "TERM": "dumb"}
    with Screen(["zsh", "-f", "-i"], place, environ) as screen:
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
    script.write_text(
        {"zsh": format_zsh_script, "fish": format_fish_script}[shell](TREE), encoding="utf-8"
    )
    done = subprocess.run([program, "-n", str(script)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
