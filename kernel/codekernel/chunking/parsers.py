"""The grammar of each language and its tree-sitter parser.

Loaded on first use, one per thread, with a parse timeout. The binding keeps every slice it is
given and crashes on a progress callback, so the text is read from one reused buffer that ends
at the deadline; never use Node.text.
"""

import threading
import time
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

from codekernel.chunking import compiled_grammars, script_grammars
from codekernel.chunking.grammar import Grammar

GRAMMARS: dict[str, Grammar] = {
    "python": script_grammars.PYTHON,
    "javascript": script_grammars.JAVASCRIPT,
    "jsx": script_grammars.JAVASCRIPT,
    "typescript": script_grammars.TYPESCRIPT,
    "tsx": script_grammars.TSX,
    "ruby": script_grammars.RUBY,
    "php": script_grammars.PHP,
    "lua": script_grammars.LUA,
    "bash": script_grammars.BASH,
    "elixir": script_grammars.ELIXIR,
    "go": compiled_grammars.GO,
    "rust": compiled_grammars.RUST,
    "c": compiled_grammars.C,
    "cpp": compiled_grammars.CPP,
    "zig": compiled_grammars.ZIG,
    "swift": compiled_grammars.SWIFT,
    "haskell": compiled_grammars.HASKELL,
    "java": compiled_grammars.JAVA,
    "kotlin": compiled_grammars.KOTLIN,
    "csharp": compiled_grammars.C_SHARP,
    "scala": compiled_grammars.SCALA,
    "json": script_grammars.JSON,
    "yaml": script_grammars.YAML,
    "toml": script_grammars.TOML,
    "sql": script_grammars.SQL,
    "html": script_grammars.HTML,
    "vue": script_grammars.HTML,
    "svelte": script_grammars.HTML,
    "css": script_grammars.CSS,
}

if TYPE_CHECKING:
    from tree_sitter import Language, Parser, Range, Tree

# Measured: C, the slowest on real files, needs 0.5 s a megabyte of CPU on a busy machine, and
# 180 KB of garbage 0.9 s in JavaScript or C++.
PARSE_TIMEOUT_SECONDS = 0.5

PARSE_TIMEOUT_SECONDS_PER_MEGABYTE = 1.5

# How often the clock is looked at; a slice costs a call into Python.
PARSE_SLICE_BYTES = 16_384

_thread_state = threading.local()


def parse_tree(
    package: str, entry: str, source: bytes, ranges: "list[Range] | None" = None
) -> "Tree | None":
    """The tree of ``source``, or of some ranges of it; none if parsing it took too long."""
    parser = _get_parser(package, entry)
    parser.included_ranges = ranges or []
    seconds = PARSE_TIMEOUT_SECONDS + PARSE_TIMEOUT_SECONDS_PER_MEGABYTE * len(source) / 1e6
    deadline = time.thread_time() + seconds
    late = False

    handed: bytearray = _thread_state.__dict__.setdefault("handed", bytearray())

    def read(offset: int, _: object) -> bytearray:
        nonlocal late
        late = late or time.thread_time() > deadline
        handed[:] = b"" if late else source[offset : offset + PARSE_SLICE_BYTES]
        return handed

    tree = parser.parse(read)
    return None if late else tree


def _get_parser(package: str, entry: str) -> "Parser":
    # A parser keeps state while it works, so that each thread needs its own.
    parsers: dict[tuple[str, str], Parser] = _thread_state.__dict__.setdefault("parsers", {})
    if (package, entry) not in parsers:
        parsers[package, entry] = _create_parser(package, entry)
    return parsers[package, entry]


def _create_parser(package: str, entry: str) -> "Parser":
    from tree_sitter import Parser  # noqa: PLC0415  # 13 ms that a start does not have

    return Parser(load_language(package, entry))


@cache
def load_language(package: str, entry: str) -> "Language":
    """A grammar, loaded once."""
    from tree_sitter import Language  # noqa: PLC0415

    return Language(getattr(import_module(package), entry)())
