"""What all formats of config files share: the style of a text, its errors, and one recorded edit.

A config file belongs to somebody else, so that its text is edited and never written anew: bytes
outside of the edit stay as they are.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

BYTE_ORDER_MARK = "\ufeff"

DEFAULT_INDENT = "  "

# Of an entry that is not there; None is a value in JSON and YAML.
MISSING: Any = object()

_INDENTED_LINE = re.compile(r"(?m)^([ \t]+)\S")


class BrokenConfig(Exception):
    """A file that its own format does not allow; the message says where."""


class RefusedEdit(Exception):
    """A file that is correct and cannot be edited; the message says why."""


@dataclass(frozen=True, slots=True)
class ConfigFormat:
    """How to read a text, add an entry under a path of keys, and remove it; all raise both errors.

    ``load`` returns the document as a dict, empty for a blank text.
    """

    load: Callable[[str], dict[str, Any]]
    add: Callable[[str, tuple[str, ...], Any], str]
    remove: Callable[[str, tuple[str, ...]], str]


@dataclass(frozen=True, slots=True)
class TextEdit:
    """One replacement that turns a text into another."""

    offset: int
    old: str
    new: str

    @classmethod
    def between(cls, before: str, after: str) -> "TextEdit":
        """Return the shortest replacement."""
        shortest = min(len(before), len(after))
        head = next((i for i in range(shortest) if before[i] != after[i]), shortest)
        tail = 0
        while tail < shortest - head and before[-1 - tail] == after[-1 - tail]:
            tail += 1
        return cls(head, before[head : len(before) - tail], after[head : len(after) - tail])

    def undo(self, text: str) -> str | None:
        """Return the text without the edit; None if it is not there, or nobody knows where."""
        offset = self.offset
        if not text.startswith(self.new, offset):
            if text.count(self.new) != 1:
                return None
            offset = text.index(self.new)
        return text[:offset] + self.old + text[offset + len(self.new) :]


def is_blank(text: str) -> bool:
    """Return whether a text holds nothing but blanks and a byte order mark."""
    return not text.removeprefix(BYTE_ORDER_MARK).strip()


def detect_line_end(text: str) -> str:
    """Return the line end that the first line has."""
    return "\r\n" if "\r\n" in text[: text.find("\n") + 1] else "\n"


def detect_indent(text: str) -> str:
    """Return the indentation of the first line that has one."""
    found = _INDENTED_LINE.search(text)
    return found[1] if found else DEFAULT_INDENT


def append_block(text: str, block: str) -> str:
    """Return the text with lines at its end, after an empty line; ``block`` ends with a newline."""
    line_end = detect_line_end(text)
    if is_blank(text):
        return text + block
    gap = "" if text.endswith("\n") else line_end
    return text + gap + line_end + block.replace("\n", line_end)


def find_line_start(text: str, offset: int) -> int:
    """Return where the line of an offset begins."""
    return text.rfind("\n", 0, offset) + 1


def find_line_end(text: str, offset: int) -> int:
    """Return where the next line begins, or the text ends."""
    newline = text.find("\n", offset)
    return len(text) if newline < 0 else newline + 1


def get_entry(document: Any, keys: tuple[str, ...]) -> Any:
    """Return what lies under a path of keys, else MISSING."""
    for key in keys:
        if not isinstance(document, dict) or key not in document:
            return MISSING
        document = document[key]
    return document


def prune_entry(document: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    """Return a document without an entry, and without the containers that are empty then."""
    key, rest = keys[0], keys[1:]
    others = {name: value for name, value in document.items() if name != key}
    inner = document.get(key)
    if not rest or not inner:
        return others
    if not isinstance(inner, dict):
        return document
    pruned = prune_entry(inner, rest)
    return {**others, key: pruned} if pruned else others
