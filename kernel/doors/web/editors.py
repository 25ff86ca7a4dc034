"""The editors that are known, and how each is told a line.

The same table as the desktop app's (``electron-bridge/app/src/editors.js``).
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

LineSyntax = Callable[[str, int], list[str]]
# The whole path of a program, if it is there.
Find = Callable[[str], str | None]


@dataclass(frozen=True, slots=True)
class Command:
    """An editor, ready to be started."""

    editor: str
    program: str
    arguments: list[str]


def _goto(file: str, line: int) -> list[str]:
    return ["--goto", f"{file}:{line}"]


def _colon(file: str, line: int) -> list[str]:
    return [f"{file}:{line}"]


def _option(file: str, line: int) -> list[str]:
    return ["--line", str(line), file]


def _plus(file: str, line: int) -> list[str]:
    return [f"+{line}", file]


def _notepad_plus_plus(file: str, line: int) -> list[str]:
    return [f"-n{line}", file]


def _file_alone(file: str, _line: int) -> list[str]:
    return [file]


# In the order in which they are looked for. Only editors with a window of their own: there is no
# terminal to show another one in.
EDITORS: dict[str, LineSyntax] = {
    "code": _goto,
    "cursor": _goto,
    "windsurf": _goto,
    "code-insiders": _goto,
    "codium": _goto,
    "zed": _colon,
    "zeditor": _colon,
    "subl": _colon,
    "idea": _option,
    "pycharm": _option,
    "webstorm": _option,
    "goland": _option,
    "clion": _option,
    "rustrover": _option,
    "phpstorm": _option,
    "rubymine": _option,
    "rider": _option,
    "kate": _option,
    "mate": _option,
    "bbedit": _plus,
    "gvim": _plus,
    "gedit": _plus,
    "gnome-text-editor": _plus,
    "xed": _plus,
    "notepad++": _notepad_plus_plus,
}


def editor_command(file: str, line: int, environ: Mapping[str, str], find: Find) -> Command | None:
    """The person's own choice, else the first of the table that is installed."""
    for name, program, arguments in _wishes(environ):
        if found := find(program):
            syntax = EDITORS.get(name, _file_alone)
            return Command(name, found, [*arguments, *syntax(file, line)])
    for name, syntax in EDITORS.items():
        if found := find(name):
            return Command(name, found, syntax(file, line))
    return None


def _wishes(environ: Mapping[str, str]) -> list[tuple[str, str, list[str]]]:
    """What the environment asks for: name, program, arguments.

    CODEKERNEL_EDITOR is taken at its word; VISUAL and EDITOR are often meant for a terminal.
    """
    own = _wish(environ.get("CODEKERNEL_EDITOR", ""))
    usual = [_wish(environ.get(name, "")) for name in ("VISUAL", "EDITOR")]
    return [*own[:1], *(wish for found in usual for wish in found if wish[0] in EDITORS)]


def _wish(command: str) -> list[tuple[str, str, list[str]]]:
    words = [quoted or plain for quoted, plain in re.findall(r'"([^"]*)"|(\S+)', command)]
    if not words or not words[0]:
        return []
    name = re.sub(r"\.exe$", "", re.split(r"[\\/]", words[0])[-1], flags=re.IGNORECASE)
    return [(name, words[0], words[1:])]
