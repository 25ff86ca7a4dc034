"""Text for a page: escaped, with the words of the query marked."""

import re
from collections.abc import Sequence
from functools import cached_property

from kernel.search.query import Query, understood
from kernel.search.request import Request, asked

# A single letter would be marked everywhere.
SHORTEST_WORD = 2
MOST_WORDS = 64

# The letters beyond ASCII that a regular expression takes for i, s and k if capitals do not matter.
_LIKE_ASCII = re.compile("[\u0130\u0131\u017f\u212a]")
# What stands for the marks while the rest is escaped; code hardly ever has these characters.
_STAND_INS = re.compile("[\x01\x02]")


class Highlighter:
    """Marks the words of one query in any number of texts."""

    def __init__(self, words: Sequence[str]) -> None:
        chosen = [word for word in words if len(word) >= SHORTEST_WORD] or list(words)
        self._words = sorted(set(chosen[:MOST_WORDS]), key=len, reverse=True)
        # In a text that is all ASCII it is enough, and four times as fast, to look for small
        # letters in small letters.
        self._has_small = not any(map(_LIKE_ASCII.search, self._words))

    @cached_property
    def _small(self) -> re.Pattern[str] | None:
        return _any_of([word.lower() for word in self._words if word.isascii()], 0)

    @cached_property
    def _any(self) -> re.Pattern[str] | None:
        return _any_of(self._words, re.IGNORECASE)

    def __call__(self, text: str) -> str:
        """Escape ``& < >`` and put each word inside ``<mark>``.

        Without the marks and unescaped it is ``text`` again.
        """
        if self._has_small and text.isascii():
            pattern, searched = self._small, text.lower()
        else:
            pattern, searched = self._any, text
        if pattern is None:
            return _escaped(text)
        parts: list[str] = []  # in turn a text between words and a word
        end = 0
        for match in pattern.finditer(searched):
            begin, after = match.span()
            parts += (text[end:begin], text[begin:after])
            end = after
        parts.append(text[end:])
        if _STAND_INS.search(text):
            parts = [_escaped(part) for part in parts]
            parts[1::2] = [f"<mark>{word}</mark>" for word in parts[1::2]]
            return "".join(parts)
        # Escaped all at once: a text may have a hundred words in it.
        parts[1::2] = [f"\x01{word}\x02" for word in parts[1::2]]
        marked = _escaped("".join(parts))
        return marked.replace("\x01", "<mark>").replace("\x02", "</mark>")


def highlighted(text: str, words: Sequence[str]) -> str:
    """One text, as ``Highlighter`` has it."""
    return Highlighter(words)(text)


def marked_words(text: str) -> list[str]:
    """What a query would have marked: its words, also in translation, and its exact strings."""
    request = asked(text)
    return words_of(request, understood(request.plain))


def words_of(request: Request, query: Query) -> list[str]:
    """The same of a query that was taken apart before."""
    return [*query.terms, *request.exact]


def _any_of(words: Sequence[str], flags: int) -> re.Pattern[str] | None:
    return re.compile("|".join(map(re.escape, words)), flags) if words else None


def _escaped(text: str) -> str:
    """As ``html.escape`` has it; that module is slow to import, for the names of characters."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
