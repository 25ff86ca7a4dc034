"""Completion scripts know every command and option, and bash completes with its own."""

import shutil
import subprocess
from pathlib import Path

import pytest
from support.command_line import codekernel

from kernel.cli.commands import parser_of_commands
from kernel.cli.completion_bash import bash
from kernel.cli.completion_fish import fish
from kernel.cli.completion_words import command_tree
from kernel.cli.completion_zsh import zsh

TREE = command_tree(parser_of_commands())


def test_the_tree_has_what_the_parser_has() -> None:
    ways = {" ".join(command.words) for command in TREE.all()}
    assert {"", "search", "serve", "models", "doctor", "doctor why", "completion"} <= ways
    (search,) = (command for command in TREE.all() if command.name == "search")
    flags = {flag for option in search.options for flag in option.flags}
    assert {"--repo", "--limit", "--json", "--files", "--explain", "--no-color"} <= flags
    values = {option.flags[-1]: option.value for option in search.options}
    assert (values["--repo"], values["--limit"], values["--json"]) == ("DIR", "N", "")


@pytest.mark.parametrize("script", [bash, zsh])
def test_every_command_and_every_option_is_in_the_script(script: object) -> None:
    assert callable(script)
    text = script(TREE)
    for command in TREE.all():
        assert command.name in text
        for option in command.options:
            assert all(flag in text for flag in option.flags)


def test_every_command_and_every_option_is_in_the_script_of_fish() -> None:
    lines = fish(TREE).splitlines()
    for command in TREE.all():
        here = [line for line in lines if all(f"_from {word}" in line for word in command.words)]
        for inner in command.commands:
            assert any(f"-a {inner.name} " in line for line in here)
        for option in command.options:
            assert any(f"-l {option.flags[-1][2:]}" in line for line in here)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_command_prints_the_script(user_data: Path, repo: Path, shell: str) -> None:
    done = codekernel(user_data, repo, "completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == {"bash": bash, "zsh": zsh, "fish": fish}[shell](TREE) + "\n"
    assert codekernel(user_data, repo, "completion", "csh").returncode == 2


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not installed")
@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("codekernel se", ["search", "serve"]),
        ("codekernel search --fi", ["--files"]),
        ("codekernel search serve --a", ["--accuracy"]),
        ("codekernel search --repo my", ["my folder"]),
        ("codekernel search --limit ", []),
        ("codekernel doctor w", ["why"]),
        ("codekernel doctor why fi", ["file.py"]),
        ("codekernel doctor --user-data my", ["my folder"]),
        ("codekernel completion z", ["zsh"]),
    ],
)
def test_bash_completes(tmp_path: Path, typed: str, expected: list[str]) -> None:
    (tmp_path / "my folder").mkdir()
    (tmp_path / "file.py").touch()
    words = typed.split(" ")
    quoted = " ".join(f"'{word}'" for word in words)
    script = (
        f"{bash(TREE)}\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}\n"
        '_codekernel; [[ ${#COMPREPLY[@]} == 0 ]] || printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    done = subprocess.run(
        [str(shutil.which("bash")), "--norc", "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert (done.stdout.splitlines(), done.stderr) == (expected, "")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_shell_itself_finds_no_fault_with_the_script(tmp_path: Path, shell: str) -> None:
    program = shutil.which(shell)
    if not program:
        pytest.skip(f"{shell} is not installed")
    script = tmp_path / "script"
    script.write_text({"zsh": zsh, "fish": fish}[shell](TREE), encoding="utf-8")
    done = subprocess.run([program, "-n", str(script)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
