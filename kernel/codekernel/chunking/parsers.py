"""The tree-sitter parser of each language.

Loaded on first use, one per thread, with a parse timeout. The binding keeps every slice it is
given and crashes on a progress callback, so the text is read from one reused buffer that ends
at the deadline; never use Node.text.
"""

import threading
import time
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING

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
    """Return the tree of ``source``, or of some ranges of it; None after a timeout."""
    parser = _get_parser(package, entry)
    parser.included_ranges = ranges or []
    seconds = PARSE_TIMEOUT_SECONDS + PARSE_TIMEOUT_SECONDS_PER_MEGABYTE * len(source) / 1e6
    deadline = time.thread_time() + seconds
    is_late = False
    buffer: bytearray = _thread_state.__dict__.setdefault("buffer", bytearray())

    def read(offset: int, _: object) -> bytearray:
        nonlocal is_late
        is_late = is_late or time.thread_time() > deadline
        buffer[:] = b"" if is_late else source[offset : offset + PARSE_SLICE_BYTES]
        return buffer

    tree = parser.parse(read)
    return None if is_late else tree


def _get_parser(package: str, entry: str) -> "Parser":
    from tree_sitter import Parser  # noqa: PLC0415  # 13 ms that a start does not have

    # A parser keeps state while it works, so that each thread needs its own.
    parsers: dict[tuple[str, str], Parser] = _thread_state.__dict__.setdefault("parsers", {})
    if (package, entry) not in parsers:
        parsers[package, entry] = Parser(load_language(package, entry))
    return parsers[package, entry]


@cache
def load_language(package: str, entry: str) -> "Language":
    """Load a grammar once."""
    from tree_sitter import Language  # noqa: PLC0415

    return Language(getattr(import_module(package), entry)())
