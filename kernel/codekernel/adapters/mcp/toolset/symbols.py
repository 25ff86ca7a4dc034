"""The tool ``symbols``: the outline of a file, or where a name is defined."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from codekernel.agent.code_queries import Symbol, find_definitions, list_symbols, parse_place
from codekernel.agent.tool import Tool, ToolContext, ToolOutcome, make_success
from codekernel.agent.tool_policy import ToolError, ToolPermission
from codekernel.domain.untrusted_text import encode_path

MAX_SYMBOLS = 200

MAX_LINE_CHARS = 160


@dataclass(frozen=True, slots=True)
class SymbolsArguments:
    """A file or a name, or both.

    path: a file, to list its definitions
    name: a name, or Class.name, to find its definitions
    """

    path: str = ""
    name: str = ""

    ALIASES: ClassVar[Mapping[str, str]] = {"file": "path", "file_path": "path", "symbol": "name"}


def _run_symbols(arguments: SymbolsArguments, context: ToolContext) -> ToolOutcome:
    path = parse_place(arguments.path, context).path if arguments.path.strip() else ""
    name = arguments.name.strip()
    if not path and not name:
        raise ToolError("Say which file, or which name: `path`, `name`, or both.")
    found = find_definitions(name, context, path) if name else list(list_symbols(path, context))
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
    "symbols",
    "Outline of a file, or where a name is defined, with lines.",
    SymbolsArguments,
    ToolPermission.READS,
    _run_symbols,
)
