"""Unstructured text of an agent -> content blocks, while it streams, however it is cut."""

import codecs
from collections.abc import Collection, Iterable
from typing import Any

from kernel.agent.spoken_blocks import Kind, Piece, SpokenBlocks
from kernel.domain.content_blocks import ContentBlock, Text, Thinking, ToolResult, ToolUse
from kernel.domain.safe_json import parse_json


class BlockParser:
    """Feed it texts or bytes, then end it; ``blocks`` is everything so far, in order."""

    def __init__(self, known: Collection[str] | None = None) -> None:
        self._spoken = SpokenBlocks(known)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._words: list[list[str]] = []
        self._pieces: list[Piece] = []

    @property
    def blocks(self) -> tuple[ContentBlock, ...]:
        """The blocks as they are now; the last one may grow."""
        ids: list[str] = []
        return tuple(
            _block(piece, "".join(words), ids)
            for piece, words in zip(self._pieces, self._words, strict=True)
        )

    def feed(self, piece: str | bytes) -> bool:
        """Take the next of the text; whether a block has come or grown."""
        text = self._decoder.decode(piece) if isinstance(piece, bytes) else piece
        return self._take(self._spoken.feed(text))

    def end(self) -> tuple[ContentBlock, ...]:
        """All blocks, now that nothing more comes."""
        self._take(self._spoken.feed(self._decoder.decode(b"", final=True)))
        self._take(self._spoken.end())
        return self.blocks

    def _take(self, pieces: Iterable[Piece]) -> bool:
        grown = False
        for piece in pieces:
            grown = True
            if self._pieces and self._pieces[-1].number == piece.number:
                self._words[-1].append(piece.text)
            else:
                self._pieces.append(piece)
                self._words.append([piece.text])
        return grown


def blocks_of(text: str) -> tuple[ContentBlock, ...]:
    """The blocks of a whole text."""
    parser = BlockParser()
    parser.feed(text)
    return parser.end()


def _block(piece: Piece, text: str, ids: list[str]) -> ContentBlock:
    """``ids`` are those of the calls before; a result belongs to the last of them."""
    if piece.kind is Kind.CALL:
        ids.append(f"call_{len(ids) + 1}")
        return ToolUse(ids[-1], piece.name, _input(text))
    if piece.kind is Kind.THINKING:
        return Thinking(text)
    if piece.kind is Kind.RESULT:
        return ToolResult(ids[-1] if ids else "", text)
    return Text(text)


def _input(arguments: str) -> dict[str, Any]:
    """The arguments as an object; what is no JSON is kept as the one text it is."""
    try:
        value = parse_json(arguments, strict=False)
    except ValueError:
        return {"input": arguments}
    return value if isinstance(value, dict) else {"input": value}
