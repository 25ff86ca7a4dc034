"""Results of the protocol: text escaped for HTML in which the words of a query are marked.

Whole words, parts of identifiers as the index splits them, other forms of a word, exact
strings. Stop words are marked only if the query has no other words.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache, cached_property, lru_cache
from itertools import takewhile
from typing import NamedTuple

from codekernel.domain.index import Hit, format_chunk_metadata, format_symbol_path
from codekernel.domain.lexical_tokenizer import find_subword_spans, tokenize_query
from codekernel.domain.untrusted_text import encode_path
from codekernel.errors import KernelError
from codekernel.protocol.messages.search import SearchResult
from codekernel.search.query_parser import is_stopword, parse_query
from codekernel.search.query_syntax import parse_search_expression
from codekernel.search.word_forms import stem

SCORE_DIGITS = 4

# A single letter would be highlighted everywhere.
MIN_WORD_CHARS = 2

MAX_WORDS = 64

# Unrelated words share shorter stems: string and str.
MIN_STEM_CHARS = 4

# A longer word is data, and would have thousands of parts.
MAX_MARKED_WORD_CHARS = 4096

_WORD_CACHE_SIZE = 16_384

_QUERY_WORD_CACHE_SIZE = 1_024

# As a character class of a regex each would take a millisecond at the first search.
_HAN_RANGES = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFD))

_HAN_SIGNS = frozenset("\u3005\u3007")

_ASCII_WORD = frozenset("_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")

# These stand for the tags while the rest is escaped; code hardly ever has them.
_BEGIN, _END = "\x01", "\x02"

_WORD_END = re.compile(r"\w*")

CharSpan = tuple[int, int]


class Highlighter:
    """Highlights the words and exact strings of one query in any number of texts."""

    def __init__(self, words: Sequence[str]) -> None:
        terms = [word.casefold() for word in words if _is_term(word)]
        chosen = _select_marked_terms(terms)[:MAX_WORDS]
        self._words = frozenset(chosen)
        self._stems = frozenset(
            root for word in chosen if len(root := stem(word)) >= MIN_STEM_CHARS
        )
        literals = [word for word in words if word and not _is_term(word)][:MAX_WORDS]
        self._literals = sorted(literals, key=len, reverse=True)
        self._singulars = frozenset(map(_strip_plural, chosen))
        # Where one of these is found, the word around it is checked.
        self._candidates = sorted(
            {_find_prefix(word, stem(word)) or _strip_plural(word) for word in chosen}
        )
        self._ascii_candidates = [word for word in self._candidates if word.isascii()]
        self._find_spans_in_word = cache(self._find_new_spans)

    @cached_property
    def _candidate_pattern(self) -> re.Pattern[str]:
        return _compile_alternatives(map(re.escape, self._candidates))

    @cached_property
    def _literal_pattern(self) -> re.Pattern[str]:
        return _compile_alternatives(map(re.escape, self._literals))

    @cached_property
    def _whole_literal_pattern(self) -> re.Pattern[str]:
        """Match a literal that neither begins nor ends inside of a word."""
        return _compile_alternatives(map(_bound_by_words, self._literals))

    def __call__(self, text: str) -> str:
        """Escape ``& < >`` and put each match inside ``<mark>``.

        Without the tags and unescaped it is ``text`` again.
        """
        parts: list[str] = []  # in turn a text between two matches and a match
        end = 0
        for begin, after in self.find_spans(text):
            parts += (text[end:begin], text[begin:after])
            end = after
        if not parts:
            return _escape_html(text)
        parts.append(text[end:])
        if _BEGIN in text or _END in text:
            parts = [_escape_html(part) for part in parts]
            parts[1::2] = [f"<mark>{word}</mark>" for word in parts[1::2]]
            return "".join(parts)
        # Escaped all at once: a text may have a hundred words in it.
        parts[1::2] = [f"{_BEGIN}{word}{_END}" for word in parts[1::2]]
        marked = _escape_html("".join(parts))
        return marked.replace(_BEGIN, "<mark>").replace(_END, "</mark>")

    def find_spans(self, text: str) -> list[CharSpan]:
        """Return the spans to highlight, sorted and without overlap."""
        is_ascii = text.isascii()
        spans = self._find_ascii_spans(text) if is_ascii else self._find_word_spans(text)
        if self._literals:
            whole = [match.span() for match in self._whole_literal_pattern.finditer(text)]
            spans += whole or [match.span() for match in self._literal_pattern.finditer(text)]
            spans.sort()
        elif is_ascii:
            return spans  # pairs of Chinese characters may overlap, parts of words do not
        return _merge_spans(spans)

    def _find_ascii_spans(self, text: str) -> list[CharSpan]:
        """Return what ``_find_word_spans`` finds in an ASCII text, in a third of the time.

        Looking for one candidate after the other in lower case is faster than any pattern.
        """
        found: list[CharSpan] = []
        end = 0
        for place in _find_places(text.lower(), self._ascii_candidates):
            if place < end:
                continue  # in a word that was checked
            begin, end = place, _WORD_END.match(text, place).end()  # type: ignore[union-attr]
            while begin and text[begin - 1] in _ASCII_WORD:
                begin -= 1
            for first, last in self._find_spans_in_word(text[begin:end]):
                found.append((begin + first, begin + last))
        return found

    def _find_word_spans(self, text: str) -> list[CharSpan]:
        found: list[CharSpan] = []
        end = 0
        for match in self._candidate_pattern.finditer(text) if self._candidates else ():
            if match.start() < end:
                continue  # in a word that was checked
            begin, end = _expand_to_word(text, match.start())
            for first, last in self._find_spans_in_word(text[begin:end]):
                found.append((begin + first, begin + last))
        return found

    def _find_new_spans(self, run: str) -> list[CharSpan]:
        return self._find_chinese_spans(run) if _is_chinese(run[0]) else self._find_part_spans(run)

    def _find_part_spans(self, word: str) -> list[CharSpan]:
        whole, *parts = _split_word(word)
        if self._is_wanted(whole):
            return [(whole.begin, whole.end)]
        return _merge_spans([(part.begin, part.end) for part in parts if self._is_wanted(part)])

    def _is_wanted(self, part: "_WordPart") -> bool:
        _, _, word, root, singular = part
        return word in self._words or root in self._stems or singular in self._singulars

    def _find_chinese_spans(self, run: str) -> list[CharSpan]:
        """Return the pairs of characters that the query has, or else its single characters."""
        places = range(len(run) - 1)
        pairs = [(place, place + 2) for place in places if run[place : place + 2] in self._words]
        return pairs or [
            (place, place + 1) for place, character in enumerate(run) if character in self._words
        ]


class _WordPart(NamedTuple):
    """A word or a part of it, in lower case; other forms are empty if only itself is marked."""

    begin: int
    end: int
    word: str
    root: str = ""
    singular: str = ""


@lru_cache(_WORD_CACHE_SIZE)
def _split_word(word: str) -> tuple[_WordPart, ...]:
    """Return a word as a whole and, if it may have several, its parts."""
    if word.isascii() and word.isalpha() and (word.islower() or word[1:].islower()):
        return (_describe_part(0, len(word), word),)  # most have one part
    spans = find_subword_spans(word[:MAX_MARKED_WORD_CHARS]) or [(0, 0)]
    names = [word[begin:end] for begin, end in spans]
    whole = _describe_part(spans[0][0], spans[-1][1], "".join(names))
    return (whole, *(_describe_part(*span, name) for span, name in zip(spans, names, strict=True)))


def _describe_part(begin: int, end: int, name: str) -> _WordPart:
    word = name.casefold()
    if len(word) < MIN_STEM_CHARS or is_stopword(word):
        return _WordPart(begin, end, word)
    return _WordPart(begin, end, word, stem(word), _strip_plural(word))


def build_search_result(hit: Hit, highlight: Highlighter, *, explain: bool) -> SearchResult:
    """Return a hit as it is sent, with highlighted text; ``explain`` adds the signals."""
    chunk, path = hit.chunk, encode_path(hit.chunk.path)
    metadata = format_chunk_metadata(path, chunk)
    why: dict[str, float] | None = None
    if explain:
        why = {signal.value: round(gain, SCORE_DIGITS) for signal, gain in hit.signals.items()}
    return SearchResult(
        content=hit.content,
        highlighted_content=highlight(hit.content),
        metadata=metadata,
        highlighted_metadata=highlight(metadata),
        begin_line=chunk.begin_line,
        end_line=chunk.end_line,
        file_path=path,
        score=round(hit.score, SCORE_DIGITS),
        chunk_id=chunk.id,
        symbol=format_symbol_path(chunk.symbols),
        language=chunk.language,
        freshness=hit.freshness,
        why=why,
    )


def build_highlighter(query: str) -> Highlighter:
    """Return the highlighter of a query; of nothing if the query is invalid."""
    try:
        return Highlighter(list_marked_words(query))
    except KernelError:
        return Highlighter(())


def list_marked_words(text: str) -> list[str]:
    """Return the words of a query, also in translation, and its exact strings."""
    expression = parse_search_expression(text)
    return [*parse_query(expression.query_text).terms, *expression.exact_strings]


def _find_places(text: str, words: Iterable[str]) -> list[int]:
    """Return where one of the words stands, ascending."""
    places: list[int] = []
    for word in words:
        place = text.find(word)
        while place >= 0:
            places.append(place)
            place = text.find(word, place + len(word))
    places.sort()
    return places


@lru_cache(_QUERY_WORD_CACHE_SIZE)
def _is_term(word: str) -> bool:
    """Return whether this is a term of the index; an exact string with spaces or signs is not."""
    return word.casefold() in tokenize_query(word)


def _select_marked_terms(terms: Sequence[str]) -> list[str]:
    """Return the terms without stop words and single letters, unless there is nothing else."""
    significant = [term for term in dict.fromkeys(terms) if not is_stopword(term)]
    long = [term for term in significant if len(term) >= MIN_WORD_CHARS]
    return long or significant or [*dict.fromkeys(terms)]


def _find_prefix(word: str, root: str) -> str:
    """Return what a word and its stem begin with; empty if that says little."""
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(word, root, strict=False))
    count = len(list(pairs))
    return word[:count] if count >= MIN_STEM_CHARS else ""


def _strip_plural(word: str) -> str:
    """Return the word without a plural s; words too short for a stem have plurals too."""
    return word[:-1] if len(word) > MIN_STEM_CHARS and word.endswith("s") else word


def _merge_spans(spans: Sequence[CharSpan]) -> list[CharSpan]:
    """Merge sorted spans that touch or overlap."""
    merged: list[CharSpan] = []
    for begin, end in spans:
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((begin, end))
    return merged


def _expand_to_word(text: str, place: int) -> CharSpan:
    """Return the word, or the run of Chinese, in which a candidate begins."""
    belongs = _is_chinese if _is_chinese(text[place]) else _is_word
    begin = place
    while begin and belongs(text[begin - 1]):
        begin -= 1
    end = place + 1
    while end < len(text) and belongs(text[end]):
        end += 1
    return begin, end


def _is_chinese(character: str) -> bool:
    if character.isascii():
        return False
    code = ord(character)
    return character in _HAN_SIGNS or any(low <= code <= high for low, high in _HAN_RANGES)


def _is_word(character: str) -> bool:
    return (character.isalnum() or character == "_") and not _is_chinese(character)


def _bound_by_words(literal: str) -> str:
    before = r"(?<!\w)" if re.match(r"\w", literal) else ""
    after = r"(?!\w)" if re.match(r"\w", literal[-1]) else ""
    return before + re.escape(literal) + after


def _compile_alternatives(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.IGNORECASE)


def _escape_html(text: str) -> str:
    """Escape like ``html.escape``, whose module is slow to import."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
