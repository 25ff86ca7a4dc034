"""Parse a query.

parse_search_expression splits the text into filters (lang: path: file: symbol:, negated with a
minus), "exact strings", one /regex/ and plain text; a backslash makes ordinary text of any of them,
and in error messages, stack traces and multi-line text no syntax counts. parse_query classifies the
plain text (symbol, prose, Chinese, path, error message, stack trace) and extracts its terms, names
and file mentions.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from codekernel.domain.lexical_tokenizer import tokenize_query
from codekernel.search import query_recognizers
from codekernel.search.chinese_glossary import translate_chinese
from codekernel.search.filters import (
    Filters,
    build_unknown_value_error,
    list_language_names,
    resolve_languages,
)
from codekernel.search.query_recognizers import (
    FileMention,
    StackFrame,
    find_quoted_names,
    is_error_message,
    parse_stack_trace,
    strip_variable_values,
)
from codekernel.search.safe_regex import MAX_PATTERN_CHARS, compile_regex
from codekernel.search.stopwords import QUERY_STOPWORDS, stem

# A long stack trace; what a page of pasted text says beyond it is not looked at.
MAX_QUERY_CHARS = 16_384

_NAME = r"[^\W\d][\w$]*[!?]?"

_SYMBOL = re.compile(rf"~?{_NAME}(?:(?:\.|::|\#|->){_NAME})*(?:\(\))?")

_QUALIFIER = re.compile(r"\.|::|\#|->")

# Inside a sentence only what cannot be an ordinary word is taken for a name.
_NAME_IN_PROSE = re.compile(
    r"\b(?:[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+|[a-z]+(?:[A-Z][a-z0-9]*)+"
    r"|[A-Za-z0-9]+_[A-Za-z0-9_]+|[A-Z]{2,}[a-z]\w+)\b"
)

_CHINESE_CHARACTER = re.compile("[\u3400-\u9fff]")

# Words that ask for tests, which are otherwise ranked behind the code they test.
_TEST_WORDS = frozenset({"test", "tests", "testing", "spec", "specs"})


class QueryKind(Enum):
    """The kinds of question that are ranked differently."""

    SYMBOL = auto()  # one name, perhaps qualified: the definition is wanted
    PROSE = auto()  # words in English
    HAN = auto()  # Chinese, asked in English words too: code seldom shares the Chinese ones
    PATH = auto()  # a file, perhaps with a line
    ERROR = auto()  # what a program said when it failed
    TRACE = auto()  # a stack trace


@dataclass(frozen=True, slots=True)
class Query:
    """A question taken apart."""

    text: str
    kind: QueryKind
    terms: tuple[str, ...]
    stems: frozenset[str]
    # The name asked for, without its qualifiers; empty unless the whole query is one (SYMBOL).
    symbol: str
    # Names inside a sentence.
    names: frozenset[str]
    # What a model is to read of it.
    semantic_query: str
    # Files it names and lines in them, the most telling first.
    mentions: tuple[FileMention, ...] = ()

    @property
    def is_about_tests(self) -> bool:
        """Whether tests are what is looked for."""
        return not _TEST_WORDS.isdisjoint(self.terms)


def parse_query(text: str) -> Query:
    """Take a query apart."""
    text = text[:MAX_QUERY_CHARS]
    trace = parse_stack_trace(text)
    if trace:
        return _parse_stack_trace(text, trace)
    bare = text.strip().removesuffix("()")
    is_symbol = bool(_SYMBOL.fullmatch(text.strip())) and bare.isascii()
    place = query_recognizers.parse_file_mention(text)
    if place and not (is_symbol and "." not in bare):
        return _build_query(
            QueryKind.PATH, text, text, terms=tuple(tokenize_query(place.path)), mentions=(place,)
        )
    if is_symbol:
        return _build_query(QueryKind.SYMBOL, text, text, symbol=_QUALIFIER.split(bare)[-1])
    if _CHINESE_CHARACTER.search(text):
        return _parse_chinese(text)
    names = frozenset(_NAME_IN_PROSE.findall(text))
    places = query_recognizers.find_file_mentions(text)
    if is_error_message(text):
        return _parse_error_message(text, names, places)
    return _build_query(QueryKind.PROSE, text, text, names=names, mentions=places)


def _parse_chinese(text: str) -> Query:
    """Asked with its own words, for Chinese comments, and with English ones, for code.

    Benchmark, 518 questions (in English .867), half of the score meaning: as it is .605; with the
    English words for word search .789, for names and paths too .807, and the first sense of each
    for the model .823. All senses for the model .820, the English alone .822: no real difference.
    """
    own, english = tokenize_query(text), tokenize_query(" ".join(translate_chinese(text)))
    first_senses = " ".join(translate_chinese(text, max_senses=1))
    return _build_query(
        QueryKind.HAN,
        text,
        f"{text} {first_senses}" if first_senses else text,
        names=frozenset(_NAME_IN_PROSE.findall(text)),
        terms=tuple(dict.fromkeys((*own, *english))),
        boost_terms=english or own,
    )


def _parse_error_message(
    text: str, names: frozenset[str], mentions: tuple[FileMention, ...]
) -> Query:
    """Asked by its constant words first; its values, which code seldom holds, do no harm.

    A message is made of words that name neither functions nor files. Of 146 messages raised in five
    Python repositories, with values put in, the raising lines came at a mean reciprocal rank of .68
    when names and paths were compared with the words as for prose, and of .78 when they were not.
    """
    kept = strip_variable_values(text)
    return _build_query(
        QueryKind.ERROR,
        text,
        kept,
        names=names | find_quoted_names(text),
        terms=tuple(tokenize_query(f"{kept} {text}")),
        boost_terms=(),
        mentions=mentions,
    )


def _parse_stack_trace(text: str, stack: Sequence[StackFrame]) -> Query:
    """Asked by the functions and files of its frames, then by what the program said."""
    functions = [frame.function for frame in stack if frame.function]
    files = [frame.mention.path.rpartition("/")[2] for frame in stack]
    said = _find_trace_message(text)
    words = " ".join(dict.fromkeys((*functions, *files)))
    return _build_query(
        QueryKind.TRACE,
        text,
        f"{said} {' '.join(dict.fromkeys(functions))}".strip() or words,
        names=frozenset(functions),
        terms=tuple(tokenize_query(f"{words} {said}")),
        mentions=tuple(frame.mention for frame in stack),
    )


def _find_trace_message(text: str) -> str:
    """The constant part of the message that comes with a trace."""
    lines = [
        line for line in text.splitlines() if is_error_message(line) and not parse_stack_trace(line)
    ]
    return strip_variable_values(lines[-1]) if lines else ""


def _build_query(  # noqa: PLR0913 - one for each field that differs by kind
    kind: QueryKind,
    text: str,
    semantic_query: str,
    *,
    symbol: str = "",
    names: frozenset[str] = frozenset(),
    mentions: tuple[FileMention, ...] = (),
    terms: tuple[str, ...] | None = None,
    boost_terms: Sequence[str] | None = None,
) -> Query:
    if terms is None:
        terms = tuple(tokenize_query(semantic_query))
    candidates = terms if boost_terms is None else boost_terms
    loud = [term for term in candidates if term not in QUERY_STOPWORDS] or candidates
    return Query(
        text,
        kind,
        terms,
        frozenset(map(stem, loud)),
        symbol,
        names,
        semantic_query,
        mentions,
    )


# A value of a filter that is longer than any path is not one.
MAX_FILTER_VALUE_CHARS = 500

# Each is looked for in every file.
MAX_EXACT_STRINGS = 16

MAX_EXACT_STRING_CHARS = 1_000

_QUOTED = rf'"((?:[^"\\]|\\.){{1,{MAX_EXACT_STRING_CHARS}}})"'

_FILTER_END = r"(?=\s|$)"

# Without one of these a query is words alone, as most are.
_SYNTAX_MARKS = re.compile(r'[:"/\\]')

_ESCAPED = re.compile(r'\\(?=-?(?:lang|path|file|symbol):\S|["/])')

_FILTER = re.compile(
    rf"(?P<without>-?)(?P<kind>lang|path|file|symbol):"
    rf"(?:{_QUOTED}|(?P<value>(?!:|//|\")\S{{1,{MAX_FILTER_VALUE_CHARS}}})){_FILTER_END}"
)

_EXACT = re.compile(_QUOTED + _FILTER_END)

_REGEX = re.compile(
    rf"/(?P<body>(?!\s)(?:\\[^\n]|\[(?:\\[^\n]|[^\]\\\n]){{1,200}}\]|[^/\\\[\n])"
    rf"{{1,{MAX_PATTERN_CHARS + 1}}})(?<!\s)/(?P<flags>i?){_FILTER_END}"
)

_WORD = re.compile(r"\S+")

_SPACE = re.compile(r"\s+")

_BACKSLASH = re.compile(r'\\(["\\])')

_FILTER_FIELDS = {"lang": "languages", "path": "paths", "file": "files", "symbol": "symbols"}


@dataclass(frozen=True, slots=True)
class SearchExpression:
    """What a query asks for; ``words`` is the ordinary text of it."""

    plain_text: str
    filters: Filters
    exact_strings: tuple[str, ...] = ()
    regex: re.Pattern[str] | None = None

    @property
    def query_text(self) -> str:
        """The words to look for; with none, the names that the filters mention."""
        return self.plain_text.strip() or self.filters.names_as_text

    @property
    def is_literal(self) -> bool:
        """Whether something must stand in the text itself, so that it has to be looked through."""
        return bool(self.exact_strings or self.regex)


def parse_search_expression(text: str) -> SearchExpression:
    """Take a query apart.

    Raises WrongParam if its regular expression is not valid or not safe, or a language unknown.
    """
    text = text[:MAX_QUERY_CHARS].strip()
    if "\n" in text or parse_stack_trace(text):
        return SearchExpression(text, Filters())
    if not _SYNTAX_MARKS.search(text):
        return SearchExpression(" ".join(text.split()), Filters())
    return _ExpressionParser(
        text, allows_quotes=not is_error_message(_EXACT.sub(" ", text))
    ).parse()


class _ExpressionParser:
    """One pass over a query."""

    def __init__(self, text: str, *, allows_quotes: bool) -> None:
        self._text = text
        self._allows_quotes = allows_quotes
        self._words: list[str] = []
        self._exact_strings: dict[str, None] = {}
        self._compiled_regex: re.Pattern[str] | None = None
        self._filters: dict[str, dict[str, None]] = defaultdict(dict)

    def parse(self) -> SearchExpression:
        place = 0
        while place < len(self._text):
            space = _SPACE.match(self._text, place)
            place = space.end() if space else self._parse_word(place)
        values = {name: tuple(found) for name, found in self._filters.items()}
        languages = frozenset(values.pop("languages", ()))
        not_languages = frozenset(values.pop("not_languages", ()))
        return SearchExpression(
            plain_text=" ".join(self._words),
            filters=Filters(languages=languages, not_languages=not_languages, **values),
            exact_strings=tuple(self._exact_strings),
            regex=self._compiled_regex,
        )

    def _parse_word(self, start: int) -> int:
        """Read what begins at ``place``; returns where it ends."""
        escaped = _ESCAPED.match(self._text, start)
        if not escaped:
            for read in (self._parse_filter, self._parse_exact_string, self._parse_regex):
                end = read(start)
                if end:
                    return end
        word = _WORD.match(self._text, escaped.end() if escaped else start)
        if not word:
            return len(self._text)
        self._words.append(word.group())
        return word.end()

    def _parse_filter(self, start: int) -> int | None:
        found = _FILTER.match(self._text, start)
        if not found:
            return None
        value = found["value"] or _unescape(found[3])
        values = [value]
        if found["kind"] == "lang":
            each = [resolve_languages(name) for name in value.split(",")]
            for name, called in zip(value.split(","), each, strict=True):
                if not called and self._allows_quotes:
                    raise build_unknown_value_error(
                        f'no language is called "{name}"', name, list_language_names()
                    )
            if not all(each):  # in a message it is text like the rest
                return None
            values = sorted(frozenset().union(*each))
        field = ("not_" if found["without"] else "") + _FILTER_FIELDS[found["kind"]]
        self._filters[field] |= dict.fromkeys(values)
        return found.end()

    def _parse_exact_string(self, start: int) -> int | None:
        found = _EXACT.match(self._text, start) if self._allows_quotes else None
        if not found or len(self._exact_strings) >= MAX_EXACT_STRINGS:
            return None
        self._exact_strings[_unescape(found[1])] = None
        return found.end()

    def _parse_regex(self, start: int) -> int | None:
        found = _REGEX.match(self._text, start) if self._compiled_regex is None else None
        if not found:
            return None
        self._compiled_regex = compile_regex(found["body"], ignore_case=bool(found["flags"]))
        return found.end()


def _unescape(quoted: str) -> str:
    return _BACKSLASH.sub(r"\1", quoted)
