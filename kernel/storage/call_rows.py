"""Rows of ``calls.db`` <-> values."""

import json
import zlib
from collections.abc import Sequence
from typing import Any

from kernel.domain.call_facts import CallFacts, Definition, Import, Reference, Through

DEFINITION_COLUMNS = "number, name, owner, kind, of_class, first, last, least, most, bases, returns"
# Files whose name says nothing are called as their folder.
_NAMELESS = frozenset({"__init__", "index", "mod", "lib", "main"})
_SEPARATOR = "\x1f"


def name_key(name: str) -> int:
    """A name as a number."""
    return zlib.crc32(name.encode(errors="replace"))


def stem_of(path: str) -> str:
    """What a module is called: its file without extensions, or its folder."""
    folder, _, name = path.rpartition("/")
    stem = name.split(".", 1)[0]
    return folder.rpartition("/")[2] or stem if stem in _NAMELESS else stem


def definition_row(file: int, one: Definition) -> tuple[Any, ...]:
    """The columns of a definition."""
    bases = _SEPARATOR.join(one.bases)
    words = (one.name, one.owner, one.kind, one.of_class)
    numbers = (one.first, one.last, one.least, one.most)
    return (file, one.number, *map(_storable, words), *numbers, _storable(bases),
            _storable(one.returns))  # fmt: skip


def definition(row: Sequence[Any]) -> Definition:
    """A row of DEFINITION_COLUMNS as a value."""
    number, name, owner, kind, of_class, first, last, least, most, bases, returns = row
    above = tuple(bases.split(_SEPARATOR)) if bases else ()
    return Definition(number, name, owner, kind, of_class, first, last, least, most, above, returns)


def packed_facts(facts: CallFacts) -> bytes:
    """References and imports of a file as stored."""
    references = [
        (one.name, one.line, one.within, int(one.through), one.text, one.arguments)
        for one in facts.references
    ]
    imports = [(one.alias, one.module, one.name) for one in facts.imports]
    return zlib.compress(json.dumps([references, imports]).encode(), 1)


def unpacked_facts(packed: bytes) -> tuple[list[Reference], list[Import]]:
    """The references and imports again."""
    references, imports = json.loads(zlib.decompress(packed))
    return (
        [Reference(name, line, within, _THROUGH[how], text, arguments)
         for name, line, within, how, text, arguments in references],
        [Import(*fields) for fields in imports],
    )  # fmt: skip


_THROUGH = list(Through)


def _storable(text: str) -> str:
    return text if text.isascii() else text.encode(errors="replace").decode()
