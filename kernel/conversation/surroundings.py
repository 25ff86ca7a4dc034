"""A hit as an excerpt: grown to the whole definition where the index has cut one in pieces."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from kernel.domain.chunk import Chunk, symbol_path
from kernel.domain.hit import Hit
from kernel.domain.indexed import metadata_of
from kernel.domain.path_text import encode_path
from kernel.domain.turn import Excerpt
from kernel.storage.catalogue import Catalogue

# Chunks before and after a hit that may belong to it: with those of 950 characters, a definition of
# about a hundred lines becomes whole, and a class of a thousand does not fill the window.
_MOST_BEFORE = 1
_MOST_AFTER = 3
_LONGEST_LINE = 160


@dataclass(frozen=True, slots=True)
class Placed:
    """An excerpt and, for the model, what it stands in: ``Session>close; in class Session:``."""

    excerpt: Excerpt
    place: str


def placed(
    hit: Hit, catalogue: Catalogue, mark: Callable[[str], str] | None = None, *, grow: bool
) -> Placed:
    """The hit with what belongs to it, its words marked."""
    chunk = hit.chunk.chunk
    around = _Around(hit, catalogue) if chunk.symbols and (grow or len(chunk.symbols) > 1) else None
    pieces = _pieces(chunk, around.siblings) if around and grow else [chunk]
    first, last = pieces[0], pieces[-1]
    content = around.text[first.begin : last.end] if around and len(pieces) > 1 else hit.content
    excerpt = Excerpt(
        path=encode_path(hit.chunk.path),
        begin_line=first.begin_line,
        end_line=last.end_line,
        content=content,
        metadata=metadata_of(encode_path(hit.chunk.path), chunk),
        score=hit.score,
        chunk_id=hit.chunk.id,
        highlighted=mark(content) if mark else "",
    )
    enclosing = around.enclosing(chunk.symbols, excerpt) if around else ""
    parts = [symbol_path(chunk.symbols), f"in {enclosing}" if enclosing else ""]
    return Placed(excerpt, "; ".join(part for part in parts if part))


class _Around:
    """The file of a hit; empty if it has been indexed anew between two questions."""

    def __init__(self, hit: Hit, catalogue: Catalogue) -> None:
        self.text, self.siblings = "", list[Chunk]()
        file = catalogue.file(hit.chunk.path)
        if file is None:
            return
        text, chunk = catalogue.document(file.id), hit.chunk.chunk
        if text[chunk.begin : chunk.end] == hit.content:
            self.text = text
            found = catalogue.chunks_of(file.id, hit.chunk.input_length)
            self.siblings = [each.chunk for each in found]

    def enclosing(self, symbols: tuple[str, ...], excerpt: Excerpt) -> str:
        """The line that begins the definition around, unless the excerpt has it itself."""
        if len(symbols) < 2:  # noqa: PLR2004 - itself and what is around
            return ""
        outer = symbols[:-1]
        name = re.compile(rf"(?<!\w){re.escape(outer[-1])}(?!\w)")
        for chunk in self.siblings:
            if outer[-1] not in chunk.defines or chunk.symbols[: len(outer)] != outer:
                continue
            lines = self.text[chunk.begin : chunk.end].split("\n")
            for number, line in enumerate(lines, start=chunk.begin_line):
                if name.search(line):
                    shown = excerpt.begin_line <= number < excerpt.end_line
                    return "" if shown else " ".join(line.split())[:_LONGEST_LINE]
        return ""


def _pieces(chunk: Chunk, siblings: list[Chunk]) -> list[Chunk]:
    """The chunk and its neighbours of the same definition."""
    places = [index for index, each in enumerate(siblings) if each.begin == chunk.begin]
    if not chunk.symbols or not places:
        return [chunk]
    first = last = places[0]
    while first > 0 and places[0] - first < _MOST_BEFORE and _belongs(siblings[first - 1], chunk):
        first -= 1
    while (
        last + 1 < len(siblings)
        and last - places[0] < _MOST_AFTER
        and _belongs(siblings[last + 1], chunk)
    ):
        last += 1
    return siblings[first : last + 1]


def _belongs(neighbour: Chunk, chunk: Chunk) -> bool:
    """Whether it continues the same definition, rather than being another one of the same name."""
    return neighbour.symbols == chunk.symbols and (
        neighbour.signature == chunk.signature or not neighbour.defines
    )
