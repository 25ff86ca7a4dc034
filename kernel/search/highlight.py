"""Text for a page: escaped, with the words of the query marked."""

import html
import re
from collections.abc import Sequence

from kernel.search.query import understood
from kernel.search.request import asked

# A single letter would be marked everywhere.
SHORTEST_WORD = 2
MOST_WORDS = 64


def highlighted(text: str, words: Sequence[str]) -> str:
    """Escape ``& < >`` and put each word inside ``<mark>``.

    Without the marks and unescaped it is ``text`` again.
    """
    chosen = [word for word in words if len(word) >= SHORTEST_WORD] or list(words)
    if not chosen:
        return html.escape(text, quote=False)
    longest_first = sorted(set(chosen[:MOST_WORDS]), key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE)
    parts: list[str] = []
    end = 0
    for match in pattern.finditer(text):
        parts += (
            html.escape(text[end : match.start()], quote=False),
            "<mark>",
            html.escape(match.group(), quote=False),
            "</mark>",
        )
        end = match.end()
    return "".join((*parts, html.escape(text[end:], quote=False)))


def marked_words(text: str) -> list[str]:
    """What a query would have marked: its words, also in translation, and its exact strings."""
    request = asked(text)
    words = request.words.strip() or request.filters.as_words
    return [*understood(words).terms, *request.exact]
