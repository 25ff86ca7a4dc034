"""The commands as completion sees them, read off the parser so that they cannot disagree."""

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

FOLDER, FILE = "DIR", "FILE"


@dataclass(frozen=True, slots=True)
class Option:
    """``value`` is what it takes: FOLDER, another word, or nothing."""

    flags: tuple[str, ...]
    purpose: str
    value: str
    choices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Command:
    """A command, what can be said to it, and the commands inside it."""

    # The words that lead to it, without the program: ("doctor", "why").
    words: tuple[str, ...]
    purpose: str
    options: tuple[Option, ...]
    # What its arguments are: FILE, another word, or nothing; and which they may be.
    argument: str
    choices: tuple[str, ...]
    commands: tuple["Command", ...]

    @property
    def name(self) -> str:
        """Its own word."""
        return self.words[-1] if self.words else ""

    def all(self) -> Iterator["Command"]:
        """Itself and every command inside it."""
        yield self
        for command in self.commands:
            yield from command.all()


def command_tree(
    parser: argparse.ArgumentParser, words: tuple[str, ...] = (), purpose: str = ""
) -> Command:
    """The parser's commands; argparse offers no other way to read them than these attributes."""
    actions = parser._actions  # noqa: SLF001
    options: list[Option] = []
    commands: list[Command] = []
    argument, choices = "", tuple[str, ...]()
    for action in actions:
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001
            purposes = {pseudo.dest: pseudo.help or "" for pseudo in action._choices_actions}  # noqa: SLF001
            commands += [
                command_tree(inner, (*words, name), purposes.get(name, ""))
                for name, inner in action.choices.items()
            ]
        elif action.option_strings:
            options.append(_option(action))
        elif not argument:  # of several the first; what follows a file is free text
            argument = str(action.metavar or action.dest)
            choices = tuple(map(str, action.choices or ()))
    return Command(words, purpose, tuple(options), argument, choices, tuple(commands))


def _option(action: argparse.Action) -> Option:
    takes_value = action.nargs != 0
    return Option(
        flags=tuple(action.option_strings),
        purpose=action.help or "",
        value=str(action.metavar or action.dest.upper()) if takes_value else "",
        choices=tuple(map(str, action.choices or ())),
    )
