"""The tool ``symbols``: what a file defines, or where a name is defined, by line."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from kernel.agent.context import ToolContext
from kernel.agent.files import load
from kernel.agent.tool import Danger, Outcome, Tool, ToolFailed, done
from kernel.chunking.outline import Definition
from kernel.chunking.outlining import outline_of
from kernel.chunking.source_lines import SourceLines, lines_of
from kernel.domain.languages import language_of
from kernel.domain.path_text import encode_path, existing_path
from kernel.errors import WrongParam
from kernel.protocol.tool_arguments import about

MOST_SYMBOLS = 500
# Files that may define a name; the ranked search puts those that do first.
MOST_FILES = 30
LONGEST_LINE = 160
# Everything with a name is looked for, however small.
_SMALLEST = 2


@dataclass(frozen=True, slots=True)
class Symbols:
    """A file or a name, or both."""

    path: Annotated[str, about("a file: its definitions are listed, nested as they are")] = ""
    name: Annotated[
        str, about("a name, or Class.name: where it is defined, in the repository or in `path`")
    ] = ""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A definition; lines count from 1, ``last`` is in."""

    path: str
    kind: str
    names: tuple[str, ...]
    first: int
    last: int
    depth: int
    line: str


def _run(arguments: Symbols, context: ToolContext) -> Outcome:
    path = existing_path(context.root.folder, arguments.path.strip())
    name = arguments.name.strip()
    if not path and not name:
        raise ToolFailed("Say which file, or which name: `path`, `name`, or both.")
    paths = [path] if path else _paths_with(name, context)
    found = [one for each in paths for one in _symbols_of(each, context)]
    if name:
        found = [one for one in found if _is_called(one, name)]
    if not found:
        where = f" in {path}" if path else ""
        raise ToolFailed(
            f"Nothing called {name} is defined{where}. Names are matched exactly, but for capitals."
            if name
            else f"{path} defines nothing that has a name."
        )
    rows = [_shown(one, indented=not name) for one in found[:MOST_SYMBOLS]]
    if len(found) > MOST_SYMBOLS:
        rows.append(f"[... {len(found) - MOST_SYMBOLS} more]")
    return done("\n".join(rows))


def _paths_with(name: str, context: ToolContext) -> list[str]:
    if context.search is None:
        raise ToolFailed("There is no index here: give a path.")
    last = _parts(name)[-1]
    try:
        hits = context.search(f"symbol:{last} {last}", MOST_FILES)
    except WrongParam:  # nothing indexed is called so
        return []
    return list(dict.fromkeys(hit.chunk.path for hit in hits))


def _symbols_of(path: str, context: ToolContext) -> Iterator[Symbol]:
    """The definitions as they are in the file now, not as they were indexed."""
    lines = lines_of(load(context, path).text)
    definitions = outline_of(lines, language_of(path), _SMALLEST).definitions
    depths: list[int] = []
    for one in definitions:
        depths.append(depths[one.parent] + 1 if one.parent >= 0 else 0)
        yield _symbol(path, one, definitions, lines, depths[-1])


def _symbol(
    path: str, one: Definition, definitions: list[Definition], lines: SourceLines, depth: int
) -> Symbol:
    names, parent = one.names, one.parent
    while parent >= 0:
        names = (*definitions[parent].names, *names)
        parent = definitions[parent].parent
    first, last = _line(lines, one.head), _line(lines, max(one.begin, one.end - 1))
    return Symbol(path, one.kind, names, first + 1, last + 1, depth, lines.stripped[first])


def _line(lines: SourceLines, character: int) -> int:
    return min(bisect_right(lines.starts, character) - 1, lines.count - 1)


def _is_called(one: Symbol, name: str) -> bool:
    wanted = [part.lower() for part in _parts(name)]
    return [part.lower() for part in one.names[-len(wanted) :]] == wanted


def _parts(name: str) -> list[str]:
    plain = name.replace("::", ".").replace("#", ".").replace(">", ".").removesuffix("()")
    return [part for part in plain.split(".") if part] or [name]


def _shown(one: Symbol, *, indented: bool) -> str:
    line = one.line if len(one.line) <= LONGEST_LINE else f"{one.line[:LONGEST_LINE]}..."
    if indented:
        return f"{'  ' * one.depth}{one.first}-{one.last} {one.kind} {line}"
    return (
        f"{encode_path(one.path)}:{one.first}-{one.last} {one.kind} {'.'.join(one.names)}: {line}"
    )


SYMBOLS = Tool(
    name="symbols",
    purpose=(
        "Where things are defined: the outline of a file (`path`), or the definitions of a name"
        " anywhere in the repository (`name`), with their lines."
    ),
    arguments=Symbols,
    danger=Danger.READS,
    run=_run,
)
