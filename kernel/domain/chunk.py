"""A chunk: some consecutive lines of a file, what they define, and the key of its vector."""

import hashlib
from dataclasses import dataclass

# Separates the names of a path of symbols, as the front end shows it.
SYMBOL_SEPARATOR = ">"


@dataclass(frozen=True, slots=True)
class Chunk:
    """Lines ``begin_line`` (0-based) up to, not including, ``end_line`` of one text.

    ``begin`` and ``end`` are the same bounds in characters of that text, so that
    ``text[begin:end]`` is the content. The chunks of a text follow each other without gap or
    overlap; only a line that is longer than the budget is shared, by the chunks it was cut into.
    """

    begin_line: int
    end_line: int
    begin: int
    end: int
    kind: str = "lines"
    # Names of what surrounds the chunk and, last, of what it is: ("Session", "close"), or headings.
    symbols: tuple[str, ...] = ()
    # The first line of the innermost definition around or in the chunk, white space collapsed.
    signature: str = ""
    # Every name that a definition beginning in this chunk introduces.
    defines: tuple[str, ...] = ()


def symbol_path(symbols: tuple[str, ...]) -> str:
    """The names as one word: ``Session>close``."""
    return SYMBOL_SEPARATOR.join(symbols)


def embedded_text(symbols: tuple[str, ...], content: str) -> str:
    """What a model reads of a chunk; without its path, so that a renamed file keeps its vectors."""
    return f"{symbol_path(symbols)}\n{content}" if symbols else content


def text_key(text: str) -> int:
    """The name of an embedded text: 64 bits of its hash, signed as the databases store them.

    A million chunks collide with a chance of one in forty million.
    """
    digest = hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)
