"""The MCP tool `symbols`: the definitions of a file, or the places where a name is defined."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated

from codekernel.agent.tool import Tool, ToolContext, ToolOutcome, make_success
from codekernel.agent.tool_policy import ToolError, ToolPermission
from codekernel.agent.tools.file_access import load_text_file
from codekernel.chunking.outline import OutlineDefinition, SourceLines, split_lines
from codekernel.chunking.outliner import outline_text
from codekernel.domain.source_files import detect_language
from codekernel.domain.untrusted_text import encode_path, resolve_encoded_path
from codekernel.errors import WrongParam
from codekernel.protocol.tool_schema import describe_argument

MAX_SYMBOLS = 500

# Files that may define a name; the search ranks those that do first.
MAX_CANDIDATE_FILES = 30

MAX_LINE_CHARS = 160

# Every definition with a name counts, however small.
_MIN_DEFINITION_CHARS = 2


@dataclass(frozen=True, slots=True)
class SymbolsArguments:
    """A file or a name, or both."""

    path: Annotated[
        str, describe_argument("a file: its definitions are listed, nested as they are")
    ] = ""
    name: Annotated[
        str,
        describe_argument(
            "a name, or Class.name: where it is defined, in the repository or in `path`"
        ),
    ] = ""


@dataclass(frozen=True, slots=True)
class Symbol:
    """A definition; lines count from 1 and include ``last_line``."""

    path: str
    kind: str
    names: tuple[str, ...]
    first_line: int
    last_line: int
    depth: int
    line: str


def _run_symbols(arguments: SymbolsArguments, context: ToolContext) -> ToolOutcome:
    path = resolve_encoded_path(context.root.folder, arguments.path.strip())
    name = arguments.name.strip()
    if not path and not name:
        raise ToolError("Say which file, or which name: `path`, `name`, or both.")
    paths = [path] if path else _find_candidate_paths(name, context)
    found = [symbol for each in paths for symbol in _list_symbols(each, context)]
    if name:
        found = [symbol for symbol in found if _is_named(symbol, name)]
    if not found:
        where = f" in {path}" if path else ""
        raise ToolError(
            f"Nothing called {name} is defined{where}. Names are matched exactly, but for capitals."
            if name
            else f"{path} defines nothing that has a name."
        )
    rows = [_format_symbol(symbol, indented=not name) for symbol in found[:MAX_SYMBOLS]]
    if len(found) > MAX_SYMBOLS:
        rows.append(f"[... {len(found) - MAX_SYMBOLS} more]")
    return make_success("\n".join(rows))


def _find_candidate_paths(name: str, context: ToolContext) -> list[str]:
    if context.search is None:
        raise ToolError("There is no index here: give a path.")
    last = _split_name(name)[-1]
    try:
        hits = context.search(f"symbol:{last} {last}", MAX_CANDIDATE_FILES)
    except WrongParam:  # nothing indexed has this name
        return []
    return list(dict.fromkeys(hit.chunk.path for hit in hits))


def _list_symbols(path: str, context: ToolContext) -> Iterator[Symbol]:
    """Return the definitions in the file as it is now, not as it was indexed."""
    lines = split_lines(load_text_file(context, path).text)
    definitions = outline_text(lines, detect_language(path), _MIN_DEFINITION_CHARS).definitions
    depths: list[int] = []
    for definition in definitions:
        depths.append(depths[definition.parent] + 1 if definition.parent >= 0 else 0)
        yield _build_symbol(path, definition, definitions, lines, depths[-1])


def _build_symbol(
    path: str,
    definition: OutlineDefinition,
    definitions: list[OutlineDefinition],
    lines: SourceLines,
    depth: int,
) -> Symbol:
    names, parent = definition.names, definition.parent
    while parent >= 0:
        names = (*definitions[parent].names, *names)
        parent = definitions[parent].parent
    first = _find_line(lines, definition.head)
    last = _find_line(lines, max(definition.begin, definition.end - 1))
    return Symbol(path, definition.kind, names, first + 1, last + 1, depth, lines.stripped[first])


def _find_line(lines: SourceLines, character: int) -> int:
    return min(bisect_right(lines.starts, character) - 1, lines.line_count - 1)


def _is_named(symbol: Symbol, name: str) -> bool:
    wanted = [part.lower() for part in _split_name(name)]
    return [part.lower() for part in symbol.names[-len(wanted) :]] == wanted


def _split_name(name: str) -> list[str]:
    plain = name.replace("::", ".").replace("#", ".").replace(">", ".").removesuffix("()")
    return [part for part in plain.split(".") if part] or [name]


def _format_symbol(symbol: Symbol, *, indented: bool) -> str:
    line = (
        symbol.line if len(symbol.line) <= MAX_LINE_CHARS else f"{symbol.line[:MAX_LINE_CHARS]}..."
    )
    if indented:
        return f"{'  ' * symbol.depth}{symbol.first_line}-{symbol.last_line} {symbol.kind} {line}"
    return (
        f"{encode_path(symbol.path)}:{symbol.first_line}-{symbol.last_line} "
        f"{symbol.kind} {'.'.join(symbol.names)}: {line}"
    )


SYMBOLS_TOOL = Tool(
    name="symbols",
    description=(
        "Where things are defined: the outline of a file (`path`), or the definitions of a name"
        " anywhere in the repository (`name`), with their lines."
    ),
    arguments=SymbolsArguments,
    permission=ToolPermission.READS,
    run=_run_symbols,
)
