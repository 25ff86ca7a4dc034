"""A parser whose usage errors say what was meant and whose help has examples; values of options."""

import argparse
import re
import sys
from collections.abc import Iterable, Iterator
from typing import Any, NoReturn

EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "search": (
        ('codekernel search "where are sessions closed"', "by meaning and words, in this project"),
        ("codekernel search -l -t python Session.close", "the files that define or use a name"),
        ("codekernel search -F 'retry = 3'", "an exact text; -i ignores capitals"),
        ('codekernel search --repo ../api --repo ../web "login form"', "two repositories together"),
        ('codekernel search -a "rate limit" -n 20', "all repositories that are known"),
        (
            "codekernel search https://host/team/lib.git parser",
            "a repository that is cloned for it",
        ),
        ("codekernel search --scope web 'open socket' --open", "one package; opens the best hit"),
    ),
    "impact": (
        (
            "codekernel impact src/auth.py:40",
            "what a change of this function reaches, and its tests",
        ),
        ("codekernel impact src/auth.py", "of everything in the file"),
        ("codekernel impact Session.close --depth 5", "of a definition by its name, further away"),
    ),
    "history": (
        (
            "codekernel history src/auth.py:40-60",
            "the commits behind these lines, and their reasons",
        ),
        ("codekernel history Session.close", "behind a definition"),
    ),
    "related": (
        ("codekernel related src/auth.py:40", "code like the code at this line"),
        ("codekernel related src/auth.py:40 -l", "the files alone"),
    ),
    "savings": (("codekernel savings", "what agents did not read because they searched"),),
    "ask": (
        ('codekernel ask "How does a session end?"', "an answer with checked citations"),
        ('codekernel ask --continue "And on a crash?"', "go on with the last conversation"),
    ),
    "agent": (
        ('codekernel agent "add a --quiet option to the CLI"', "plan, edit and check"),
        ("codekernel agent --allow runs 'make the tests pass'", "it may also run commands"),
        ("codekernel agent --undo", "take back what the last session changed"),
    ),
    "web": (
        ("codekernel web", "the app in your browser"),
        ("codekernel web --no-browser ../api", "only print the address"),
    ),
    "backend": (
        ("codekernel backend --http 8080 --root .", "tasks over HTTP"),
        ("codekernel backend --stdio --root .", "tools as lines of JSON"),
    ),
    "mcp": (
        ("codekernel mcp", "as a coding agent starts it, over stdin and stdout"),
        ("codekernel mcp --http 8123", "several agents at once"),
    ),
    "install": (
        ("codekernel install", "into all coding agents that are found: shows, then asks"),
        ("codekernel install --agent codex --dry-run", "only show what would change"),
        ("codekernel install --project --with instructions", "for everybody on this project"),
    ),
    "uninstall": (("codekernel uninstall", "take away exactly what install added"),),
    "acp": (("codekernel acp", "as Zed or another editor starts it"),),
    "ide-tools": (("codekernel ide-tools --listen 9000", "be dialled by the backend"),),
    "serve": (("codekernel serve", "as a front end starts it"),),
    "status": (("codekernel status", "the kernel that your programs share"),),
    "stop": (("codekernel stop", "end it"),),
    "repos": (
        ("codekernel repos", "all repositories and their indexes"),
        ("codekernel repos clean --dry-run", "which indexes and clones would be deleted"),
        ("codekernel repos remove api", "forget one and delete its index"),
    ),
    "models": (("codekernel models", "what is in the box, and your own"),),
    "eval": (
        ("codekernel eval --commits 100", "which model or reranker helps on your commits"),
        ("codekernel eval --tune", "learn weights from your commits; kept only if they hold"),
    ),
    "doctor": (
        ("codekernel doctor", "what works and what is wrong"),
        ("codekernel doctor why src/auth.py login", "is it indexed, and where does it rank"),
    ),
    "hub": (
        ("codekernel hub", "your agents on your phone, in this network"),
        ("codekernel hub join https://host:7443 --code 123456", "add this machine to a hub"),
    ),
    "share": (("codekernel share status", "what the store of your team holds"),),
    "pack": (
        ("codekernel pack build", "index a commit and send the index to the team"),
        ("codekernel pack pull", "open this repository with the nearest index of the team"),
    ),
    "build-base": (
        (
            "codekernel build-base platform --repos all.txt",
            "many repositories in one table of the team's store",
        ),
        (
            "codekernel build-base platform --repo ../api --repo web=../www/site",
            "some, one of them under another name",
        ),
    ),
    "team": (
        ("codekernel team token add ci", "a token of the team's server, shown once"),
        ("codekernel team token revoke ci", "refuse all tokens of ci from now on"),
    ),
    "key": (("codekernel key set deepseek", "asks for the key and keeps it encrypted"),),
    "completion": (("source <(codekernel completion bash)", "in ~/.bashrc"),),
    "man": (("codekernel man > codekernel.1", "the manual page, made of this help"),),
}


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
    import difflib

    name = word.partition("=")[0]
    found = difflib.get_close_matches(name, list(known), 1, _MIN_SIMILARITY)
    return found[0] if found else ""


def format_examples(examples: Iterable[tuple[str, str]]) -> str:
    """Return the end of a help page."""
    rows = [f"  {command}\n      {purpose}" for command, purpose in examples]
    return "\n".join(["examples:", *rows])


# As many as the kernel returns to any client.
MAX_HITS = 10_000

MAX_PORT = 65535


def parse_count(text: str) -> int:
    """Return a whole number from 1 upwards."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 upwards")
    return int(text)


def parse_port_or_zero(text: str) -> int:
    """Return a port, or 0 for any."""
    return 0 if text == "0" else parse_port(text)


def parse_port(text: str) -> int:
    """Return a port."""
    port = parse_count(text)
    if port > MAX_PORT:
        raise argparse.ArgumentTypeError(f"{text} is no port: at most {MAX_PORT}")
    return port


def parse_hit_limit(text: str) -> int:
    """Return how many hits are wanted."""
    hits = parse_count(text)
    if hits > MAX_HITS:
        raise argparse.ArgumentTypeError(f"{text} is too many: at most {MAX_HITS}")
    return hits


def parse_context(text: str) -> int:
    """Return a number of lines."""
    return 0 if text == "0" else parse_count(text)
