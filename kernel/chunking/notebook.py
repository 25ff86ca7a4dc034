"""Jupyter notebooks, as they lie on disk: the lines of the JSON, cut along the cells."""

import re
from typing import TYPE_CHECKING

from kernel.chunking.outline import Definition, Outline, nest
from kernel.chunking.source_lines import SourceLines

if TYPE_CHECKING:
    from tree_sitter import Node

_MARKDOWN = re.compile(r'"cell_type"\s*:\s*"markdown"')
_CELLS = b'"cells"'
_HEADING = re.compile(r'"\s*#{1,6}\s+([^"\\]+)')


def add_cells(outline: Outline, root: "Node", source: bytes, lines: SourceLines) -> Outline:
    """The outline of a notebook's JSON with its cells in place of its keys.

    A cell is called by its number, under the last Markdown heading above it.
    """
    cells: list[Definition] = []
    heading: tuple[str, ...] = ()
    for number, (first, last) in enumerate(_cell_rows(root, source), 1):
        begin, end = lines.starts[first], lines.starts[last]
        content = lines.text[begin:end]
        if _MARKDOWN.search(content) and (match := _HEADING.search(content)):
            heading = (match[1].strip(),)
        names = (*heading, f"cell {number}")
        cells.append(Definition(begin, end, begin, begin, begin, "cell", names))
    return Outline(outline.levels, nest(cells))


def _cell_rows(root: "Node", source: bytes) -> list[tuple[int, int]]:
    """First row of each cell and the row after its last."""
    for pair in (pair for top in root.named_children for pair in top.named_children):
        key, value = pair.child_by_field_name("key"), pair.child_by_field_name("value")
        if key is None or value is None:
            continue
        if source[key.start_byte : key.end_byte] == _CELLS:
            return [
                (cell.start_point[0], cell.end_point[0] + 1)
                for cell in value.named_children
                if cell.type == "object"
            ]
    return []
