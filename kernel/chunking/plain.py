"""Text without a grammar: paragraphs, and what is indented belongs to what is above it."""

from kernel.chunking.outline import DEEPEST, Outline, shade
from kernel.chunking.source_lines import SourceLines

# A tab is taken for this many spaces.
_TAB = 4


def plain_outline(lines: SourceLines) -> Outline:
    """Depth by indentation: the number of less indented lines above that are still open."""
    depths = bytearray(lines.count)
    open_columns: list[int] = []
    depth = 0
    for number, content in enumerate(lines.stripped):
        if content:
            column = _column(lines, number)
            while open_columns and open_columns[-1] >= column:
                open_columns.pop()
            depth = min(len(open_columns), DEEPEST)
            open_columns.append(column)
        depths[number] = depth
    return Outline(shade(depths, lines, ()))


def _column(lines: SourceLines, number: int) -> int:
    begin = lines.starts[number]
    indentation = lines.text[begin : begin + lines.indentation(number)]
    return len(indentation) + indentation.count("\t") * (_TAB - 1)
