"""Text for a page: escaped, with the words of the query marked.

Marked are whole words, and the parts of identifiers as the index splits them: ``user`` in
``getUserName``, never ``and`` in ``CANDIDATES``. So are other forms of a word (``parsers`` for
``parser``), which the index finds too. Stop words are not, unless nothing else was asked for.
"""

import re
from collections.abc import Sequence
from functools import cached_property

from kernel.domain.terms import part_spans, query_terms
from kernel.errors import KernelError
from kernel.search.query import Query, understood
from kernel.search.request import Request, asked
from kernel.search.stems import stem
from kernel.search.stopwords import is_stopword

# A single letter would be marked everywhere.
MIN_WORD_CHARS = 2
MAX_WORDS = 64
# Shorter stems are shared by words that have nothing to do with each other: string and str.
MIN_STEM_CHARS = 4
# A word that is longer is data, and would have thousands of parts.
MAX_MARKED_WORD_CHARS = 4096

# Compiled as a class of a pattern these would take a millisecond each at the first search.
_HAN_RANGES = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFD))
_HAN_SIGNS = frozenset("\u3005\u3007")
_ASCII_WORD = frozenset("_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
# What stands for the marks while the rest is escaped; code hardly ever has these characters.
_STAND_INS = re.compile("[\x01\x02]")

Span = tuple[int, int]


class Highlighter:
    """Marks the words of one query in any number of texts; exact strings of it as they are."""

    def __init__(self, words: Sequence[str]) -> None:
        terms = [word.casefold() for word in words if _is_term(word)]
        chosen = _telling(terms)[:MAX_WORDS]
        self._words = frozenset(chosen)
        self._stems = frozenset(
            root for word in chosen if len(root := stem(word)) >= MIN_STEM_CHARS
        )
        literals = [word for word in words if word and not _is_term(word)][:MAX_WORDS]
        self._literals = sorted(literals, key=len, reverse=True)
        # A candidate is where a word may stand; whether it does is looked at there alone.
        self._candidates = sorted(
            {root if (root := stem(word)) in self._stems else _singular(word) for word in chosen}
        )
        self._singulars = frozenset(map(_singular, chosen))
        self._spans_of_word: dict[str, list[Span]] = {}

    @cached_property
    def _small(self) -> re.Pattern[str] | None:
        """A candidate, to the end of its word."""
        words = [word for word in self._candidates if word.isascii()]
        return re.compile(f"(?:{'|'.join(map(re.escape, words))})\\w*") if words else None

    @cached_property
    def _any(self) -> re.Pattern[str] | None:
        return _any_of(self._candidates, re.IGNORECASE)

    @cached_property
    def _any_literal(self) -> re.Pattern[str]:
        return re.compile("|".join(map(re.escape, self._literals)), re.IGNORECASE)

    @cached_property
    def _whole_literal(self) -> re.Pattern[str]:
        """The same where no word is cut."""
        return re.compile("|".join(map(_bounded, self._literals)), re.IGNORECASE)

    def __call__(self, text: str) -> str:
        """Escape ``& < >`` and put each word inside ``<mark>``.

        Without the marks and unescaped it is ``text`` again.
        """
        parts: list[str] = []  # in turn a text between words and a word
        end = 0
        for begin, after in self.spans(text):
            parts += (text[end:begin], text[begin:after])
            end = after
        if not parts:
            return _escaped(text)
        parts.append(text[end:])
        if _STAND_INS.search(text):
            parts = [_escaped(part) for part in parts]
            parts[1::2] = [f"<mark>{word}</mark>" for word in parts[1::2]]
            return "".join(parts)
        # Escaped all at once: a text may have a hundred words in it.
        parts[1::2] = [f"\x01{word}\x02" for word in parts[1::2]]
        marked = _escaped("".join(parts))
        return marked.replace("\x01", "<mark>").replace("\x02", "</mark>")

    def spans(self, text: str) -> list[Span]:
        """What is marked, in order and apart from each other."""
        is_ascii = text.isascii()
        spans = self._ascii_spans(text) if is_ascii else self._word_spans(text)
        if self._literals:
            whole = [match.span() for match in self._whole_literal.finditer(text)]
            spans += whole or [match.span() for match in self._any_literal.finditer(text)]
            spans.sort()
        elif is_ascii:
            return spans  # neighbours in Chinese may overlap, parts of words do not
        return _merged(spans)

    def _ascii_spans(self, text: str) -> list[Span]:
        """What ``_word_spans`` finds in a text that is all ASCII: in half the time.

        It is enough, and four times as fast, to look for small letters in small letters.
        """
        found: list[Span] = []
        if self._small is None:
            return found
        known = self._spans_of_word
        for match in self._small.finditer(text.lower()):
            begin, end = match.span()
            while begin and text[begin - 1] in _ASCII_WORD:
                begin -= 1
            run = text[begin:end]
            spans = known.get(run)
            if spans is None:
                spans = known[run] = self._part_spans(run)
            for first, last in spans:
                found.append((begin + first, begin + last))
        return found

    def _word_spans(self, text: str) -> list[Span]:
        found: list[Span] = []
        end = 0
        for match in self._any.finditer(text) if self._any else ():
            if match.start() < end:
                continue  # in a word that was looked at
            begin, end = _run_around(text, match.start())
            found += [
                (begin + first, begin + last) for first, last in self._spans_in(text[begin:end])
            ]
        return found

    def _spans_in(self, run: str) -> list[Span]:
        spans = self._spans_of_word.get(run)
        if spans is None:
            spans = self._han_spans(run) if _is_han(run[0]) else self._part_spans(run)
            self._spans_of_word[run] = spans
        return spans

    def _part_spans(self, word: str) -> list[Span]:
        if word.isascii() and word.isalpha() and (word.islower() or word[1:].islower()):
            return [(0, len(word))] if self._is_wanted(word) else []  # most have one part
        parts = part_spans(word[:MAX_MARKED_WORD_CHARS])
        if self._is_wanted("".join(word[begin:end] for begin, end in parts)):
            return [(parts[0][0], parts[-1][1])]
        return _merged([span for span in parts if self._is_wanted(word[span[0] : span[1]])])

    def _is_wanted(self, name: str) -> bool:
        small = name.casefold()
        if small in self._words:
            return True
        if len(small) < MIN_STEM_CHARS:
            return False
        is_form = stem(small) in self._stems or _singular(small) in self._singulars
        return is_form and not is_stopword(small)

    def _han_spans(self, run: str) -> list[Span]:
        """Wherever neighbours stand that stood in the query; overlapping ones are one word."""
        places = range(len(run) - 1)
        pairs = [(place, place + 2) for place in places if run[place : place + 2] in self._words]
        return pairs or [
            (place, place + 1) for place, character in enumerate(run) if character in self._words
        ]


def highlighted(text: str, words: Sequence[str]) -> str:
    """One text, as ``Highlighter`` has it."""
    return Highlighter(words)(text)


def marker_of(query: str) -> Highlighter:
    """What marks the words of a query, as it was asked; nothing if it cannot be asked."""
    try:
        return Highlighter(marked_words(query))
    except KernelError:
        return Highlighter(())


def marked_words(text: str) -> list[str]:
    """What a query would have marked: its words, also in translation, and its exact strings."""
    request = asked(text)
    return words_of(request, understood(request.plain))


def words_of(request: Request, query: Query) -> list[str]:
    """The same of a query that was taken apart before."""
    return [*query.terms, *request.exact]


def _is_term(word: str) -> bool:
    """Whether this is a word of the index; an exact string with blanks or signs in it is not."""
    return word.casefold() in query_terms(word)


def _telling(terms: Sequence[str]) -> list[str]:
    """The terms worth a mark: no stop words, no single letters, unless there is nothing else."""
    loud = [term for term in dict.fromkeys(terms) if not is_stopword(term)]
    long = [term for term in loud if len(term) >= MIN_WORD_CHARS]
    return long or loud or [*dict.fromkeys(terms)]


def _singular(word: str) -> str:
    """The word without the ending of most plurals; what is too short for a stem has that too."""
    return word[:-1] if len(word) > MIN_STEM_CHARS and word.endswith("s") else word


def _merged(spans: Sequence[Span]) -> list[Span]:
    """Spans in order, those that touch or overlap as one."""
    merged: list[Span] = []
    for begin, end in spans:
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged


def _run_around(text: str, place: int) -> Span:
    """The word, or the run of Chinese, in which a candidate begins."""
    belongs = _is_han if _is_han(text[place]) else _is_word
    begin = place
    while begin and belongs(text[begin - 1]):
        begin -= 1
    end = place + 1
    while end < len(text) and belongs(text[end]):
        end += 1
    return begin, end


def _is_han(character: str) -> bool:
    if character.isascii():
        return False
    code = ord(character)
    return character in _HAN_SIGNS or any(low <= code <= high for low, high in _HAN_RANGES)


def _is_word(character: str) -> bool:
    return (character.isalnum() or character == "_") and not _is_han(character)


def _bounded(literal: str) -> str:
    before = r"(?<!\w)" if re.match(r"\w", literal) else ""
    after = r"(?!\w)" if re.match(r"\w", literal[-1]) else ""
    return before + re.escape(literal) + after


def _any_of(words: Sequence[str], flags: int) -> re.Pattern[str] | None:
    return re.compile("|".join(map(re.escape, words)), flags) if words else None


def _escaped(text: str) -> str:
    """As ``html.escape`` has it; that module is slow to import, for the names of characters."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
