"""NotebookEditCell of document 000: replace, insert or delete one cell of a Jupyter notebook.

Indentation, escapes and line endings of the file are kept.
"""

import json
import re
import secrets
from dataclasses import dataclass
from io import StringIO
from typing import Any, Final, Literal

from codekernel.agent.tool import ToolContext, ToolOutcome, make_success, tool
from codekernel.agent.tool_policy import ToolError, ToolPermission
from codekernel.agent.tools.file_access import load_for_edit, write_text_file
from codekernel.agent.tools.string_edit import NOTEBOOK_SUFFIX
from codekernel.agent.workspace.text_file import (
    LF,
    TextFile,
    convert_line_endings,
    detect_line_ending,
    reject_surrogates,
)
from codekernel.domain.untrusted_text import parse_json

CODE_CELL: Final = "code"

DEFAULT_NOTEBOOK_LANGUAGE: Final = "python"

DEFAULT_NOTEBOOK_INDENT: Final = " "

# From this format on, every cell has a name of its own.
_MIN_FORMAT_WITH_CELL_IDS: Final = (4, 5)

_MIN_FORMAT: Final = 4

_ID_BYTES: Final = 4

_INDENT = re.compile(r"\{\r?\n([ \t]*)")

Cell = dict[str, Any]


@dataclass(frozen=True, slots=True)
class JupyterNotebook:
    """The cells of a notebook file and the style of its JSON."""

    content: dict[str, Any]
    cells: list[Cell]
    original_text: str

    @classmethod
    def parse(cls, text: str, display_path: str) -> "JupyterNotebook":
        """Parse a notebook file. Raises ToolError if it is none."""
        try:
            content = parse_json(text)
        except ValueError as error:
            reason = f"is no valid notebook: it is no JSON ({error})."
            raise ToolError(f"{display_path} {reason}") from error
        cells = content.get("cells") if isinstance(content, dict) else None
        if not isinstance(cells, list) or not all(isinstance(cell, dict) for cell in cells):
            raise ToolError(f"{display_path} is no valid notebook: it has no list of cells.")
        if _get_format(content) < (_MIN_FORMAT, 0):
            raise ToolError(
                f"{display_path} is a notebook of an old format: save it with Jupyter first."
            )
        return cls(content, cells, text)

    @property
    def language(self) -> str:
        """The language that its code is in."""
        metadata = self.content.get("metadata")
        info = metadata.get("language_info") if isinstance(metadata, dict) else None
        name = info.get("name") if isinstance(info, dict) else None
        return name if isinstance(name, str) and name else DEFAULT_NOTEBOOK_LANGUAGE

    def replace(self, number: int, source: str, cell_type: str | None) -> str:
        """Give a cell another source; what it has put out is no longer true. Its type then."""
        self._check_bounds(number, len(self.cells) - 1)
        cell = self.cells[number]
        cell["source"] = _shape_source(cell.get("source"), source)
        kind = str(cell_type or cell.get("cell_type", CODE_CELL))
        cell["cell_type"] = kind
        if kind == CODE_CELL:
            cell["execution_count"] = None
            cell["outputs"] = []
            cell.pop("attachments", None)  # pictures of a text, which code cannot have
        else:
            cell.pop("execution_count", None)
            cell.pop("outputs", None)
        return kind

    def insert(self, number: int, source: str, cell_type: str) -> str:
        """Insert a cell before the one of this number, or after the last."""
        self._check_bounds(number, len(self.cells))
        neighbour = self.cells[min(number, len(self.cells) - 1)] if self.cells else {}
        is_code = cell_type == CODE_CELL
        has_id = _get_format(self.content) >= _MIN_FORMAT_WITH_CELL_IDS
        cell: Cell = {
            "cell_type": cell_type,
            **({"execution_count": None} if is_code else {}),
            **({"id": self._make_cell_id()} if has_id else {}),
            "metadata": {},
            **({"outputs": []} if is_code else {}),
            "source": _shape_source(neighbour.get("source"), source),
        }
        self.cells.insert(number, cell)
        return cell_type

    def delete(self, number: int) -> str:
        """Take a cell away. Its type."""
        self._check_bounds(number, len(self.cells) - 1)
        return str(self.cells.pop(number).get("cell_type", CODE_CELL))

    def serialize(self) -> str:
        """What to save."""
        original = self.original_text
        found = _INDENT.match(original)
        indent = (found and found[1]) or DEFAULT_NOTEBOOK_INDENT
        escapes = original.isascii() and "\\u" in original
        dumped = json.dumps(self.content, indent=indent, ensure_ascii=escapes)
        dumped += LF if original.endswith(LF) else ""
        return convert_line_endings(dumped, detect_line_ending(original))

    def _check_bounds(self, number: int, last: int) -> None:
        if not 0 <= number <= last:
            raise ToolError(f"Cell number is out of bounds. Notebook has {len(self.cells)} cells.")

    def _make_cell_id(self) -> str:
        used = {cell.get("id") for cell in self.cells}
        while (name := secrets.token_hex(_ID_BYTES)) in used:
            pass
        return name


def _get_format(content: dict[str, Any]) -> tuple[int, int]:
    major, minor = content.get("nbformat", _MIN_FORMAT), content.get("nbformat_minor", 0)
    return (
        major if isinstance(major, int) else _MIN_FORMAT,
        minor if isinstance(minor, int) else 0,
    )


def _shape_source(other: object, source: str) -> str | list[str]:
    """A source as a string, or as a list of lines if that is how the other one is kept."""
    return StringIO(source).readlines() if isinstance(other, list) else source


@dataclass(frozen=True, slots=True)
class NotebookEditCellArguments:
    """What NotebookEditCell takes.

    notebook_path: the notebook, a file that ends in .ipynb
    cell_number: which cell, counted from 0
    new_source: the source of the cell; not needed to delete one
    cell_type: needed to insert; to replace, the type that the cell gets
    edit_mode: insert puts a new cell before the one of this number
    """

    notebook_path: str
    cell_number: int
    new_source: str = ""
    cell_type: Literal["code", "markdown"] | None = None
    edit_mode: Literal["replace", "insert", "delete"] = "replace"


@tool("NotebookEditCell", ToolPermission.WRITES)
def notebook_edit_cell(arguments: NotebookEditCellArguments, context: ToolContext) -> ToolOutcome:
    """Changes a Jupyter notebook cell by cell: replaces a cell's source, inserts a cell,
    deletes one.
    """  # noqa: D205
    path = arguments.notebook_path
    data: dict[str, Any] = {
        "cell_number": arguments.cell_number,
        "new_source": arguments.new_source,
        "cell_type": arguments.cell_type or CODE_CELL,
        "language": DEFAULT_NOTEBOOK_LANGUAGE,
        "edit_mode": arguments.edit_mode,
    }
    try:
        reject_surrogates(arguments.new_source, "new_source")
        file = _load_notebook_file(context, path)
        notebook = JupyterNotebook.parse(file.text, path)
        data["language"] = notebook.language
        cell_type = _edit_cell(notebook, arguments)
        write_text_file(context, notebook_edit_cell.name, path, file, notebook.serialize())
    except ToolError as error:
        raise ToolError(str(error), {**data, "error": str(error)}) from error
    return make_success(
        f"Cell {arguments.cell_number} of {path}: {arguments.edit_mode} done."
        f" It has {len(notebook.cells)} cells now.",
        {**data, "cell_type": cell_type},
    )


def _load_notebook_file(context: ToolContext, path: str) -> TextFile:
    if not path.lower().endswith(NOTEBOOK_SUFFIX):
        raise ToolError(f"{path} is no notebook: use Edit.")
    return load_for_edit(context, path)


def _edit_cell(notebook: JupyterNotebook, arguments: NotebookEditCellArguments) -> str:
    """Does it; the type of the cell."""
    number, source = arguments.cell_number, arguments.new_source
    if arguments.edit_mode == "delete":
        return notebook.delete(number)
    if arguments.edit_mode == "replace":
        return notebook.replace(number, source, arguments.cell_type)
    if arguments.cell_type is None:
        raise ToolError("cell_type is needed to insert a cell: code or markdown.")
    return notebook.insert(number, source, arguments.cell_type)
