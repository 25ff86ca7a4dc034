"""Split a text into chunks for each chunk size; label each with kind, symbols and signature."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from codekernel.chunking.chunk_boundaries import ChunkLayout, split_into_spans, split_long_line
from codekernel.chunking.outline import OutlineDefinition, SourceLines, TextOutline, split_lines
from codekernel.chunking.outliner import MIN_INSPECTED_BYTES, outline_text
from codekernel.domain.index import Chunk

# A chunk is named after a definition that makes up this much of it, be it around it or in it.
MIN_DEFINITION_RATIO = 2 / 3

MAX_SIGNATURE_CHARS = 200


class ChunkLabeler:
    """Finds the definition that names each chunk of one text."""

    def __init__(self, text: str, outline: TextOutline) -> None:
        self._text = text
        self._definitions = outline.definitions
        self._begins = [one.begin for one in outline.definitions]

    def label_chunk(
        self, begin: int, end: int
    ) -> tuple[str, tuple[str, ...], str, tuple[str, ...]]:
        """Kind, symbols, signature and new names of ``text[begin:end]``."""
        first, last = bisect_left(self._begins, begin), bisect_left(self._begins, end)
        inside = self._definitions[first:last]
        own = self._find_main_definition(begin, end, inside)
        defines = tuple(dict.fromkeys(name for one in inside for name in one.introduced_names))
        if own is None:
            return "lines", (), "", defines
        return own.kind, self._build_symbol_path(own), self._build_signature(own), defines

    def _find_main_definition(
        self, begin: int, end: int, inside: list[OutlineDefinition]
    ) -> OutlineDefinition | None:
        content = self._text[begin:end]
        begin += len(content) - len(content.lstrip())
        end = max(begin, end - (len(content) - len(content.rstrip())))
        enough = (end - begin) * MIN_DEFINITION_RATIO
        own: OutlineDefinition | None = None
        for one in inside:
            if min(one.end, end) - max(one.lead, begin) >= enough:
                own = one
                if own.end <= end:  # what is inside of it does not matter
                    break
        if own is not None:
            return own
        around = bisect_right(self._begins, begin) - 1
        while around >= 0:
            one = self._definitions[around]
            if min(one.end, end) - max(one.lead, begin) >= enough:
                return one
            around = one.parent
        return None

    def _build_symbol_path(self, own: OutlineDefinition) -> tuple[str, ...]:
        names: tuple[str, ...] = own.names
        parent = own.parent
        while parent >= 0:
            one = self._definitions[parent]
            # A method inside of A may be written A::f already.
            names = names if names[: len(one.names)] == one.names else one.names + names
            parent = one.parent
        return names

    def _build_signature(self, own: OutlineDefinition) -> str:
        head = self._text[own.head : max(own.body, own.head + 1)]
        if own.body >= own.end:
            head = head.split("\n", 1)[0]
        return " ".join(head[: 4 * MAX_SIGNATURE_CHARS].split())[:MAX_SIGNATURE_CHARS].rstrip(" {")


# "\r\n" and pairs of surrogates are never split.
MIN_CHUNK_CHARS = 2

# Several of these make one chunk as well as one of them does.
_MINOR_KINDS = frozenset({"const", "key", "rule"})


def chunk_text(text: str, language: str, chunk_sizes: Sequence[int]) -> list[list[Chunk]]:
    """Return the chunks of ``text`` for each chunk size, which counts characters.

    Chunks follow each other without gap or overlap and begin where lines begin, but for lines
    longer than the chunk size. No definition that fits is split. A chunk is only white space if
    the whole text is, or if neither neighbour has room for it.
    """
    if not text or not chunk_sizes:
        return [[] for _ in chunk_sizes]
    lines = split_lines(text)
    budgets = [max(length, MIN_CHUNK_CHARS) for length in chunk_sizes]
    # Usually one: only very short chunks need a finer outline, which must not change longer ones.
    finest = {min(budget, MIN_INSPECTED_BYTES) for budget in budgets}
    outlined = {size: _prepare_layout(lines, language, size) for size in finest}
    return [
        _build_chunks(*outlined[min(budget, MIN_INSPECTED_BYTES)], budget) for budget in budgets
    ]


def _prepare_layout(
    lines: SourceLines, language: str, min_chunk_chars: int
) -> tuple[ChunkLayout, ChunkLabeler]:
    outline = outline_text(lines, language, min_chunk_chars)
    leads = frozenset(one.lead for one in outline.definitions if one.kind not in _MINOR_KINDS)
    return ChunkLayout(lines, outline.levels, leads), ChunkLabeler(lines.text, outline)


def _build_chunks(layout: ChunkLayout, labels: ChunkLabeler, max_chunk_chars: int) -> list[Chunk]:
    chunks: list[Chunk] = []
    for begin_line, end_line in split_into_spans(layout, max_chunk_chars):
        for first, last, begin, end in _split_span(
            layout.lines, begin_line, end_line, max_chunk_chars
        ):
            kind, symbols, signature, defines = labels.label_chunk(begin, end)
            chunks.append(Chunk(first, last, begin, end, kind, symbols, signature, defines))
    return chunks


def _split_span(
    lines: SourceLines, begin_line: int, end_line: int, max_chunk_chars: int
) -> list[tuple[int, int, int, int]]:
    begin, end = lines.starts[begin_line], lines.starts[end_line]
    if end - begin <= max_chunk_chars:
        return [(begin_line, end_line, begin, end)]
    pieces = split_long_line(lines.text, begin, end, max_chunk_chars)
    # Blank lines below a long line are in its last piece.
    return [
        (begin_line, end_line if last == end else begin_line + 1, first, last)
        for first, last in pieces
    ]
