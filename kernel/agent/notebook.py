"""A Jupyter notebook between reading and writing: its cells changed, all else as it was.

What is saved has the indentation, the escapes and the line ends that the file had before.
"""

import json
import re
import secrets
from dataclasses import dataclass
from typing import Any, Final

from kernel.agent.failing import ToolFailed
from kernel.agent.line_ends import CRLF, LF, main_line_end, with_line_ends
from kernel.domain.safe_json import parse_json

CODE, MARKDOWN = "code", "markdown"
USUAL_LANGUAGE: Final = "python"
USUAL_INDENT: Final = " "
# From this format on, every cell has a name of its own.
_CELLS_HAVE_IDS: Final = (4, 5)
_OLDEST_FORMAT: Final = 4
_ID_BYTES: Final = 4
_INDENT = re.compile(r"\{\r?\n([ \t]*)")

Cell = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Notebook:
    """What a file says, and how it says it."""

    content: dict[str, Any]
    cells: list[Cell]
    written: str

    @classmethod
    def read(cls, text: str, shown: str) -> "Notebook":
        """The notebook of a file; ToolFailed if it is none."""
        try:
            content = parse_json(text)
        except ValueError as error:
            raise ToolFailed(f"{shown} is no valid notebook: it is no JSON ({error}).") from error
        cells = content.get("cells") if isinstance(content, dict) else None
        if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
            raise ToolFailed(f"{shown} is no valid notebook: it has no list of cells.")
        if _format_of(content) < (_OLDEST_FORMAT, 0):
            raise ToolFailed(f"{shown} is a notebook of an old format: save it with Jupyter first.")
        return cls(content, cells, text)

    @property
    def language(self) -> str:
        """The language that its code is in."""
        metadata = self.content.get("metadata")
        info = metadata.get("language_info") if isinstance(metadata, dict) else None
        name = info.get("name") if isinstance(info, dict) else None
        return name if isinstance(name, str) and name else USUAL_LANGUAGE

    def replace(self, number: int, source: str, cell_type: str | None) -> str:
        """Give a cell another source; what it has put out is no longer true. Its type then."""
        self._must_be_within(number, len(self.cells) - 1)
        cell = self.cells[number]
        cell["source"] = _like(cell.get("source"), source)
        kind = str(cell_type or cell.get("cell_type", CODE))
        cell["cell_type"] = kind
        if kind == CODE:
            cell["execution_count"] = None
            cell["outputs"] = []
            cell.pop("attachments", None)  # pictures of a text, which code cannot have
        else:
            cell.pop("execution_count", None)
            cell.pop("outputs", None)
        return kind

    def insert(self, number: int, source: str, cell_type: str) -> str:
        """Put a new cell before the one of this number, or behind the last."""
        self._must_be_within(number, len(self.cells))
        neighbour = self.cells[min(number, len(self.cells) - 1)] if self.cells else {}
        cell: Cell = {"cell_type": cell_type}
        if cell_type == CODE:
            cell["execution_count"] = None
        if _format_of(self.content) >= _CELLS_HAVE_IDS:
            cell["id"] = self._unused_id()
        cell["metadata"] = {}
        if cell_type == CODE:
            cell["outputs"] = []
        cell["source"] = _like(neighbour.get("source"), source)
        self.cells.insert(number, cell)
        return cell_type

    def delete(self, number: int) -> str:
        """Take a cell away. Its type."""
        self._must_be_within(number, len(self.cells) - 1)
        return str(self.cells.pop(number).get("cell_type", CODE))

    def text(self) -> str:
        """What to save."""
        indent = _INDENT.match(self.written)
        escapes = self.written.isascii() and "\\u" in self.written
        dumped = json.dumps(
            self.content,
            indent=(indent[1] if indent else "") or USUAL_INDENT,
            ensure_ascii=escapes,
        )
        dumped += LF if self.written.endswith(LF) else ""
        return with_line_ends(dumped, CRLF) if main_line_end(self.written) == CRLF else dumped

    def _must_be_within(self, number: int, last: int) -> None:
        if not 0 <= number <= last:
            raise ToolFailed(f"Cell number is out of bounds. Notebook has {len(self.cells)} cells.")

    def _unused_id(self) -> str:
        used = {cell.get("id") for cell in self.cells}
        while (name := secrets.token_hex(_ID_BYTES)) in used:
            pass
        return name


def _format_of(content: dict[str, Any]) -> tuple[int, int]:
    major, minor = content.get("nbformat", _OLDEST_FORMAT), content.get("nbformat_minor", 0)
    return (
        major if isinstance(major, int) else _OLDEST_FORMAT,
        minor if isinstance(minor, int) else 0,
    )


def _like(other: object, source: str) -> str | list[str]:
    """A source as a string, or as a list of lines if that is how the other one is kept."""
    return re.findall(r"[^\n]*\n|[^\n]+", source) if isinstance(other, list) else source
