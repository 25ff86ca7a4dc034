"""Parsers: loaded when a language is first met, one per thread, and never for longer than a budget.

tree-sitter 0.26 offers a progress callback to stop a parse, but its Python binding crashes the
process when one is given. So the text is handed over in slices, and after the deadline it simply
ends: the parser finishes with what it has, and that tree is thrown away.

The binding never lets go of a slice that it was given: of 100,000 files 600 MB stayed. So it is
always given the same piece of memory, filled anew. ``Node.text`` would read it, and crash: what a
node says is cut out of the source.
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
SECONDS_PER_FILE = 0.5
SECONDS_PER_MEGABYTE = 1.5
# How often the clock is looked at; a slice costs a call into Python.
SLICE_BYTES = 16_384

_of_thread = threading.local()


def parse(
    package: str, entry: str, source: bytes, within: "list[Range] | None" = None
) -> "Tree | None":
    """The tree of ``source``, or of some ranges of it; none if parsing it took too long."""
    parser = _parser(package, entry)
    parser.included_ranges = within or []
    seconds = SECONDS_PER_FILE + SECONDS_PER_MEGABYTE * len(source) / 1e6
    deadline = time.thread_time() + seconds
    late = False

    handed: bytearray = _of_thread.__dict__.setdefault("handed", bytearray())

    def read(offset: int, _: object) -> bytearray:
        nonlocal late
        late = late or time.thread_time() > deadline
        handed[:] = b"" if late else source[offset : offset + SLICE_BYTES]
        return handed

    tree = parser.parse(read)
    return None if late else tree


def _parser(package: str, entry: str) -> "Parser":
    # A parser keeps state while it works, so that each thread needs its own.
    parsers: dict[tuple[str, str], Parser] = _of_thread.__dict__.setdefault("parsers", {})
    if (package, entry) not in parsers:
        parsers[package, entry] = _new_parser(package, entry)
    return parsers[package, entry]


def _new_parser(package: str, entry: str) -> "Parser":
    from tree_sitter import Parser  # noqa: PLC0415  # 13 ms that a start does not have

    return Parser(language(package, entry))


@cache
def language(package: str, entry: str) -> "Language":
    """A grammar, loaded once."""
    from tree_sitter import Language  # noqa: PLC0415

    return Language(getattr(import_module(package), entry)())
