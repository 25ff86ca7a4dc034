"""From a text to its chunks, for several budgets at once."""

from collections.abc import Sequence

from kernel.chunking.labels import Labels
from kernel.chunking.long_lines import cut_line
from kernel.chunking.outlining import outline_of
from kernel.chunking.pieces import Layout, spans
from kernel.chunking.source_lines import SourceLines, lines_of
from kernel.chunking.syntax import LOOK_INSIDE_BYTES
from kernel.domain.chunk import Chunk

# "\r\n" and pairs of surrogates are never cut, so that no chunk can be kept shorter.
SMALLEST_BUDGET = 2

# Several of these make one chunk as well as one of them does.
_MINOR = frozenset({"const", "key", "rule"})


def cut(text: str, language: str, input_lengths: Sequence[int]) -> list[list[Chunk]]:
    """The chunks of ``text`` for each input length, which counts characters.

    Chunks follow each other without gap or overlap and begin where lines begin, but for lines
    longer than the input length. No definition that fits is cut. A chunk is only white space if
    the whole text is, or if neither neighbour has room for it.
    """
    if not text or not input_lengths:
        return [[] for _ in input_lengths]
    lines = lines_of(text)
    budgets = [max(length, SMALLEST_BUDGET) for length in input_lengths]
    # Usually one: only for very short chunks a text is looked at more closely, and then what longer
    # ones are cut by must not depend on who else is cut for.
    finest = {min(budget, LOOK_INSIDE_BYTES) for budget in budgets}
    outlined = {size: _outlined(lines, language, size) for size in finest}
    return [_chunks(*outlined[min(budget, LOOK_INSIDE_BYTES)], budget) for budget in budgets]


def _outlined(lines: SourceLines, language: str, smallest: int) -> tuple[Layout, Labels]:
    outline = outline_of(lines, language, smallest)
    leads = frozenset(one.lead for one in outline.definitions if one.kind not in _MINOR)
    return Layout(lines, outline.levels, leads), Labels(lines.text, outline)


def _chunks(layout: Layout, labels: Labels, budget: int) -> list[Chunk]:
    chunks: list[Chunk] = []
    for begin_line, end_line in spans(layout, budget):
        for first, last, begin, end in _bounds(layout.lines, begin_line, end_line, budget):
            kind, symbols, signature, defines = labels.of(begin, end)
            chunks.append(Chunk(first, last, begin, end, kind, symbols, signature, defines))
    return chunks


def _bounds(
    lines: SourceLines, begin_line: int, end_line: int, budget: int
) -> list[tuple[int, int, int, int]]:
    begin, end = lines.starts[begin_line], lines.starts[end_line]
    if end - begin <= budget:
        return [(begin_line, end_line, begin, end)]
    pieces = cut_line(lines.text, begin, end, budget)
    # Blank lines below a long line are in its last piece.
    return [
        (begin_line, end_line if last == end else begin_line + 1, first, last)
        for first, last in pieces
    ]
