"""``codekernel man`` and ``completion SHELL``: the manual page; completion scripts of shells.

The scripts are made by ``scripts/make_completions.py``.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from codekernel import __version__
from codekernel.cli.arguments import build_parser
from codekernel.cli.command_parser import EXAMPLES
from codekernel.cli.output.terminal import write_lines
from codekernel.cli.process import ExitCode

_FILES = (
    ("$CODEKERNEL_USER_DATA", "settings, indexes and keys; else the usual place of the system"),
    (".codekernelignore", "files of a project that are not indexed, as .gitignore has them"),
)

_EXIT_CODES = (
    ("0", "done, or something was found"),
    ("1", "nothing was found, or doctor found something"),
    ("2", "it could not be done; the reason is on stderr"),
    ("130", "interrupted"),
)


def run_man(_: argparse.Namespace) -> int:
    """Print the page as troff, which ``man -l -`` shows."""
    write_lines(format_man_page(build_parser()))
    return ExitCode.OK


def format_man_page(parser: argparse.ArgumentParser) -> Iterator[str]:
    """Yield the lines of the page."""
    yield f'.TH CODEKERNEL 1 "" "codekernel {__version__}" "User Commands"'
    yield ".SH NAME"
    yield "codekernel \\- search and discuss the code on your own machine"
    yield ".SH SYNOPSIS"
    yield ".B codekernel"
    yield ".I command"
    yield "[options]"
    yield ".SH COMMANDS"
    for name, command in _list_commands(parser):
        yield f".SS {_escape(name)}"
        yield from _format_command(command)
        yield from _format_examples(name)
    yield ".SH FILES"
    yield from _format_terms(_FILES)
    yield ".SH EXIT STATUS"
    yield from _format_terms(_EXIT_CODES)


def _list_commands(
    parser: argparse.ArgumentParser, above: str = ""
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    for group in parser._actions:  # noqa: SLF001 - argparse has no other way to them
        if isinstance(group, argparse._SubParsersAction):  # noqa: SLF001
            for name, command in group.choices.items():
                yield f"{above}{name}", command
                yield from _list_commands(command, f"{above}{name} ")


def _format_command(command: argparse.ArgumentParser) -> Iterator[str]:
    if command.description:
        yield _escape(command.description)
    for action in command._actions:  # noqa: SLF001
        is_group = isinstance(action, argparse._SubParsersAction)  # noqa: SLF001
        if is_group or action.dest == "help" or action.help == argparse.SUPPRESS:
            continue
        yield ".TP"
        yield _format_names(action)
        yield _escape(action.help or "")


def _format_names(action: argparse.Action) -> str:
    metavar: Any = action.metavar or ""
    value = f" \\fI{_escape(str(metavar))}\\fR" if metavar and action.nargs != 0 else ""
    if not action.option_strings:
        return value.strip() or f"\\fI{_escape(action.dest)}\\fR"
    return ", ".join(f"\\fB{_escape(name)}\\fR{value}" for name in action.option_strings)


def _format_examples(name: str) -> Iterator[str]:
    for typed, purpose in EXAMPLES.get(name, ()):
        yield ".PP"
        yield f".nf\n\\fB{_escape(typed)}\\fR\n.fi"
        yield _escape(purpose)


def _format_terms(terms: tuple[tuple[str, str], ...]) -> Iterator[str]:
    for term, purpose in terms:
        yield ".TP"
        yield f"\\fB{_escape(term)}\\fR"
        yield _escape(purpose)


def _escape(text: str) -> str:
    """Return text that troff shows as it is."""
    escaped = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped


COMPLETIONS_FOLDER = Path(__file__).parents[1] / "completions"


def run_completion(args: argparse.Namespace) -> int:
    """Print the completion script of a shell."""
    script = (COMPLETIONS_FOLDER / args.shell).read_text(encoding="utf-8")
    write_lines([script.removesuffix("\n")])
    return ExitCode.OK
