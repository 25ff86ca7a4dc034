"""A parser whose errors say what was probably meant, and whose help ends with examples."""

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

from codekernel.cli.examples import EXAMPLES

_MIN_SIMILARITY = 0.6

_UNRECOGNIZED = re.compile(r"unrecognized arguments: (.*)", re.DOTALL)

_INVALID_CHOICE = re.compile(r"argument [^:]+: invalid choice: '(.*?)' \(choose from")


class CommandParser(argparse.ArgumentParser):
    """The parser of codekernel, of a command, or of an action of a command."""

    def __init__(self, *args: Any, **options: Any) -> None:
        name = str(options.get("prog", "")).partition(" ")[2]
        if name in EXAMPLES and "epilog" not in options:
            options["epilog"] = format_examples(EXAMPLES[name])
            options["formatter_class"] = argparse.RawDescriptionHelpFormatter
        super().__init__(*args, **options)

    def error(self, message: str) -> NoReturn:
        """Print a usage error, with what was probably meant, and exit."""
        self.print_usage(sys.stderr)
        self.exit(2, f"{self.prog}: error: {self._explain(message)}\n")

    def _explain(self, message: str) -> str:
        if found := _UNRECOGNIZED.match(message):
            words = found[1].split()
            options = [each for each in words if each.startswith("-")]
            known = sorted(set(self.list_options()))
            meant = [
                f"{each}: did you mean {near}?"
                for each in options
                if (near := _find_near(each, known))
            ]
            return "; ".join([message, *meant])
        if found := _INVALID_CHOICE.match(message):
            choices = [name for group in self._list_actions() for name in group.choices]
            if near := _find_near(found[1], choices):
                return f"there is no command {found[1]!r}: did you mean {near}?"
            if self.prog == "codekernel":
                return (
                    f"there is no command {found[1]!r}. To look for it: codekernel search"
                    f" {found[1]!r}. All commands: codekernel --help"
                )
        return message

    def _list_actions(self) -> "Iterator[argparse._SubParsersAction[Any]]":
        for each in self._actions:
            if isinstance(each, argparse._SubParsersAction):  # noqa: SLF001 - argparse has no other way
                yield each

    def list_options(self) -> Iterator[str]:
        """Yield the options of this parser and of its actions."""
        for action in self._actions:
            yield from action.option_strings
        for group in self._list_actions():
            for parser in group.choices.values():
                if isinstance(parser, CommandParser):
                    yield from parser.list_options()


def _find_near(word: str, known: Iterable[str]) -> str:
    import difflib  # noqa: PLC0415 - seldom needed

    name = word.partition("=")[0]
    found = difflib.get_close_matches(name, list(known), 1, _MIN_SIMILARITY)
    return found[0] if found else ""


def format_examples(examples: Iterable[tuple[str, str]]) -> str:
    """Return the end of a help page."""
    rows = [f"  {command}\n      {purpose}" for command, purpose in examples]
    return "\n".join(["examples:", *rows])
