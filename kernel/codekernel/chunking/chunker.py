"""Split a text into chunks for each chunk size; label each with kind, symbols and signature.

Split at the lowest boundary level, join what fits into max_chunk_chars, and split lines that
are longer than a chunk.
"""

import hashlib
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import pairwise

from codekernel.chunking.outline import (
    ATTACHED,
    LEVELS_PER_DEPTH,
    MIN_INSPECTED_BYTES,
    OutlineDefinition,
    SourceLines,
    TextOutline,
    is_closing_line,
    outline_text,
    split_lines,
)
from codekernel.domain.index import Chunk, build_embedding_text

# For each chunk size, the chunks of a text and the hashes of their embedded texts.
ChunksBySize = dict[int, list[tuple[Chunk, int]]]

# "\r\n" and pairs of surrogates are never split.
MIN_CHUNK_CHARS = 2

_UNSPLIT_PAIR = re.compile("\r\n|[\ud800-\udbff][\udc00-\udfff]")

# Several of these make one chunk as well as one of them does.
_MINOR_KINDS = frozenset({"const", "key", "rule"})

# A split is searched in the last part of the budget; before that, a piece would be too short.
SPLIT_LOOKBACK_RATIO = 1 / 4

# After white space best of all, else after what ends or separates something.
_AFTER_SPACE = re.compile(r".*\s(?=\S)", re.DOTALL)

_AFTER_PUNCTUATION = re.compile(r".*[;,})\]>|&.:!?]", re.DOTALL)

# Two definitions that each fill this share of a chunk are found better alone.
LARGE_DEFINITION_RATIO = 1 / 3

# A header, a few imports or the end of a long function may join a part of something that was split;
# more than this share of a chunk stays alone.
SMALL_PART_RATIO = 1 / 4

# A chunk is named after a definition that makes up this much of it, be it around it or in it.
MIN_DEFINITION_RATIO = 2 / 3

MAX_SIGNATURE_CHARS = 200

# From a boundary level to its depth.
_DEPTH_OF_LEVEL = bytes(level // LEVELS_PER_DEPTH for level in range(256))


def chunk_text(text: str, language: str, chunk_sizes: Sequence[int]) -> list[list[Chunk]]:
    """Return the chunks of ``text`` for each chunk size, which counts characters.

    Chunks follow each other without gap or overlap and begin where lines begin, but for lines
    longer than the chunk size. No definition that fits with its comment is split; of a longer one
    the comment stays with the head. A chunk is only white space if the whole text is, or if neither
    neighbour has room for it.
    """
    if not text or not chunk_sizes:
        return [[] for _ in chunk_sizes]
    lines = split_lines(text)
    budgets = [max(size, MIN_CHUNK_CHARS) for size in chunk_sizes]
    # Usually one: only very short chunks need a finer outline, which must not change longer ones.
    finest = {min(budget, MIN_INSPECTED_BYTES) for budget in budgets}
    outlines = {size: outline_text(lines, language, size) for size in finest}
    return [
        list(_iterate_chunks(lines, outlines[min(budget, MIN_INSPECTED_BYTES)], budget))
        for budget in budgets
    ]


def chunk_with_hashes(text: str, language: str, chunk_sizes: Sequence[int]) -> ChunksBySize:
    """Return the chunks of a text and their hashes, for each chunk size."""
    return {
        size: [
            (chunk, _hash_text(build_embedding_text(chunk.symbols, text[chunk.begin : chunk.end])))
            for chunk in chunks
        ]
        for size, chunks in zip(chunk_sizes, chunk_text(text, language, chunk_sizes), strict=True)
    }


def _hash_text(text: str) -> int:
    """The name of an embedded text: 64 bits of its hash, signed as the databases store them.

    A million chunks collide with a chance of one in forty million.
    """
    digest = hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def _iterate_chunks(
    lines: SourceLines, outline: TextOutline, max_chunk_chars: int
) -> Iterator[Chunk]:
    labeler = ChunkLabeler(lines.text, outline.definitions)
    for begin_line, end_line in SpanSplitter(lines, outline, max_chunk_chars).split():
        begin, end = lines.starts[begin_line], lines.starts[end_line]
        for first, last in _split_long_line(lines.text, begin, end, max_chunk_chars):
            # Blank lines below a long line are in its last piece.
            last_line = end_line if last == end else begin_line + 1
            yield Chunk(begin_line, last_line, first, last, *labeler.label_chunk(first, last))


def _split_long_line(
    text: str, begin: int, end: int, max_chunk_chars: int
) -> Iterator[tuple[int, int]]:
    """Yield the bounds of pieces of ``text[begin:end]`` of at most ``max_chunk_chars``."""
    if end - begin > max_chunk_chars:
        visible_end = begin + len(text[begin:end].rstrip())
    while end - begin > max_chunk_chars:
        latest = begin + max_chunk_chars
        # The white space at the end, mostly the newline, stays with a character.
        if (
            latest >= visible_end
            and begin + 1 < visible_end
            and end - visible_end < max_chunk_chars
        ):
            latest = visible_end - 1
        at = _find_split(text, begin, latest, end - max_chunk_chars)
        if _UNSPLIT_PAIR.match(text, at - 1):
            at += -1 if at - 1 > begin else 1
        yield begin, at
        begin = at
    yield begin, end


def _find_split(text: str, begin: int, latest: int, lowest: int) -> int:
    """Return where to split, at ``latest`` or shortly before it."""
    earliest = latest - int((latest - begin) * SPLIT_LOOKBACK_RATIO)
    if lowest < latest:
        earliest = max(earliest, lowest)
    window = text[earliest:latest]
    found = _AFTER_SPACE.match(window) or _AFTER_PUNCTUATION.match(window)
    at = earliest + found.end() if found else latest
    return latest if text[begin:at].isspace() else at


class SpanSplitter:
    """Chooses the lines at which the chunks of one text begin."""

    def __init__(self, lines: SourceLines, outline: TextOutline, max_chunk_chars: int) -> None:
        self._lines, self._starts = lines, lines.starts
        self._levels = outline.levels
        self._depths = outline.levels.translate(_DEPTH_OF_LEVEL)
        self._definition_starts = {
            one.lead for one in outline.definitions if one.kind not in _MINOR_KINDS
        }
        self._max_chunk_chars = max_chunk_chars

    def split(self) -> list[tuple[int, int]]:
        """Return consecutive spans of lines; longer than a chunk only if it is one line."""
        atoms = self._split_at_levels()
        begins = self._join_spans(self._attach_headers(atoms))
        return self._merge_blank_spans(self._balance_spans(atoms, begins))

    def _fits(self, begin: int, end: int) -> bool:
        return self._starts[end] - self._starts[begin] <= self._max_chunk_chars

    def _split_at_levels(self) -> list[int]:
        """Return the first lines of the largest pieces that fit."""
        levels = self._levels
        begins: list[int] = []
        waiting = [(0, self._lines.line_count)]
        while waiting:
            begin, end = waiting.pop()
            if self._fits(begin, end) or end - begin == 1:
                begins.append(begin)
                continue
            lowest = min(levels[begin + 1 : end])
            inner = [begin]
            while (at := levels.find(lowest, inner[-1] + 1, end)) >= 0:
                inner.append(at)
            # The last one first, for this is a stack.
            waiting.extend(reversed(list(pairwise([*inner, end]))))
        return begins

    def _attach_headers(self, atoms: list[int]) -> list[int]:
        """Join the head of something that was split with the first piece of its inside."""
        kept = atoms[:1]
        for above, (begin, end) in zip(
            atoms, pairwise([*atoms[1:], self._lines.line_count]), strict=False
        ):
            is_deeper = self._depths[begin] > self._depths[above]
            if not is_deeper or not self._fits(kept[-1], end):
                kept.append(begin)
        return kept

    def _join_spans(self, begins: list[int]) -> list[int]:
        """Join neighbours while they fit, the deepest boundaries first."""
        levels = self._levels
        for level in sorted({levels[begin] for begin in begins[1:]}, reverse=True):
            kept = begins[:1]
            for begin, end in pairwise([*begins[1:], self._lines.line_count]):
                if levels[begin] != level or not self._can_join(kept[-1], begin, end):
                    kept.append(begin)
            begins = kept
        return begins

    def _can_join(self, begin: int, middle: int, end: int) -> bool:
        starts, depths = self._starts, self._depths
        left, right = starts[middle] - starts[begin], starts[end] - starts[middle]
        if left + right > self._max_chunk_chars:
            return False
        # Deeper pieces were joined before: they are parts of something that was split.
        if begin > 0 and depths[begin] > depths[middle]:  # the left one is a tail
            return all(map(is_closing_line, self._lines.stripped[middle:end]))
        if end < len(depths) and depths[end] > depths[middle]:  # the right one is a head
            return left <= SMALL_PART_RATIO * self._max_chunk_chars
        return (
            starts[middle] not in self._definition_starts
            or min(left, right) < LARGE_DEFINITION_RATIO * self._max_chunk_chars
        )

    def _balance_spans(self, atoms: list[int], begins: list[int]) -> list[int]:
        """Give a small last piece of something that was split a share of the piece before it.

        Returns the bounds: the first line of each span, and the line after the last.
        """
        starts, depths = self._starts, self._depths
        bounds = [*begins, self._lines.line_count]
        for position in range(1, len(begins)):
            above, begin, end = bounds[position - 1 : position + 2]
            is_whole = starts[begin] in self._definition_starts or not depths[begin]
            size = starts[end] - starts[begin]
            if is_whole or size >= SMALL_PART_RATIO * self._max_chunk_chars:
                continue
            middle = (starts[above] + starts[end]) // 2
            places = [
                (self._levels[at], abs(starts[at] - middle), at)
                for at in atoms[bisect_right(atoms, above) : bisect_left(atoms, begin)]
                if depths[at] >= depths[begin]
                and self._levels[at] % LEVELS_PER_DEPTH != ATTACHED
                and self._fits(at, end)
            ]
            if places:
                bounds[position] = min(places)[-1]
        return bounds

    def _merge_blank_spans(self, bounds: list[int]) -> list[tuple[int, int]]:
        """Join blank spans with the one above or else below, where they fit."""
        result: list[tuple[int, int]] = []
        is_blank_before = False
        for begin, end in pairwise(bounds):
            is_blank = not any(self._lines.stripped[begin:end])
            if result and (
                (self._fits(result[-1][0], end) and (is_blank or is_blank_before))
                or (is_blank and self._has_room_after_long_line(*result[-1], end))
            ):
                result[-1] = (result[-1][0], end)
                is_blank_before = is_blank_before and is_blank
            else:
                result.append((begin, end))
                is_blank_before = is_blank
        return result

    def _has_room_after_long_line(self, first: int, begin: int, end: int) -> bool:
        """Whether ``first`` is a line too long for a chunk whose last piece has room to ``end``."""
        begin_character = self._starts[first]
        visible = len(self._lines.text[begin_character : self._starts[begin]].rstrip())
        left_over = self._starts[end] - begin_character - visible
        return not self._fits(first, begin) and left_over < self._max_chunk_chars


class ChunkLabeler:
    """Finds the definition that names each chunk of one text."""

    def __init__(self, text: str, definitions: list[OutlineDefinition]) -> None:
        self._text = text
        self._definitions = definitions
        self._begins = [one.begin for one in definitions]

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
        around = bisect_right(self._begins, begin) - 1
        while own is None and around >= 0:
            one = self._definitions[around]
            if min(one.end, end) - max(one.lead, begin) >= enough:
                own = one
            around = one.parent
        return own

    def _build_symbol_path(self, own: OutlineDefinition) -> tuple[str, ...]:
        names = own.names
        while own.parent >= 0:
            own = self._definitions[own.parent]
            # A method inside of A may be written A::f already.
            names = names if names[: len(own.names)] == own.names else own.names + names
        return names

    def _build_signature(self, own: OutlineDefinition) -> str:
        head = self._text[own.head : max(own.body, own.head + 1)]
        if own.body >= own.end:
            head = head.split("\n", 1)[0]
        return " ".join(head[: 4 * MAX_SIGNATURE_CHARS].split())[:MAX_SIGNATURE_CHARS].rstrip(" {")
