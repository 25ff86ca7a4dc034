r"""A query string taken apart: words, filters, exact strings, a regular expression.

lang:python     the language, by name, alias or extension; ``lang:py,ts`` or twice: any of them
path:src/auth   a part of the path, or a glob: path:src/**/*.py
file:name       a part of the file's name, or a glob
symbol:Name     what is defined, or surrounds
-lang: -path: -file: -symbol:     not that one
"exact string"  must stand there letter by letter; inside, \" is a quote and \\ a backslash
/regex/         must match within a line; /regex/i whatever the capitals

A filter's value may be in quotes: path:"my folder". Everything begins after a blank and ends before
one; a backslash in front (\lang:python, \"word", \/word/) makes ordinary text of it. Ordinary text
is also whatever only resembles these: other names before a colon, ``std::vector``, ``path::join``,
``http://...``, ``file:///...``, ``label: text``, a quote without its end. A language that nobody
knows is refused, with the near ones.
A slash inside a regular expression is written \/ or [/], so that /api/v1/ and /usr/lib/ are paths;
a second regular expression is text. Error messages, stack traces and whatever has several lines are
full of such marks: there none counts, but for the filters and expressions beside a message.
"""

import re
from collections import defaultdict
from dataclasses import dataclass

from kernel.search.filters import Filters, known_languages, languages_called
from kernel.search.messages import is_message
from kernel.search.near_names import refusal
from kernel.search.patterns import LONGEST_PATTERN, compiled
from kernel.search.query import LONGEST_TEXT
from kernel.search.traces import frames

# A value of a filter that is longer than any path is not one.
LONGEST_VALUE = 500
# Each is looked for in every file.
MOST_EXACT = 16
LONGEST_EXACT = 1_000

_QUOTED = rf'"((?:[^"\\]|\\.){{1,{LONGEST_EXACT}}})"'
_END = r"(?=\s|$)"
# Without one of these a query is words alone, as most are.
_MARKS = re.compile(r'[:"/\\]')
_ESCAPED = re.compile(r'\\(?=-?(?:lang|path|file|symbol):\S|["/])')
_FILTER = re.compile(
    rf"(?P<without>-?)(?P<kind>lang|path|file|symbol):"
    rf"(?:{_QUOTED}|(?P<value>(?!:|//|\")\S{{1,{LONGEST_VALUE}}})){_END}"
)
_EXACT = re.compile(_QUOTED + _END)
_REGEX = re.compile(
    rf"/(?P<body>(?!\s)(?:\\[^\n]|\[(?:\\[^\n]|[^\]\\\n]){{1,200}}\]|[^/\\\[\n])"
    rf"{{1,{LONGEST_PATTERN + 1}}})(?<!\s)/(?P<flags>i?){_END}"
)
_WORD = re.compile(r"\S+")
_SPACE = re.compile(r"\s+")
_BACKSLASH = re.compile(r'\\(["\\])')
_FIELDS = {"lang": "languages", "path": "paths", "file": "files", "symbol": "symbols"}


@dataclass(frozen=True, slots=True)
class Request:
    """What a query asks for; ``words`` is the ordinary text of it."""

    words: str
    filters: Filters
    exact: tuple[str, ...] = ()
    pattern: re.Pattern[str] | None = None

    @property
    def plain(self) -> str:
        """The words to look for; with none, the names that the filters mention."""
        return self.words.strip() or self.filters.as_words

    @property
    def is_literal(self) -> bool:
        """Whether something must stand in the text itself, so that it has to be looked through."""
        return bool(self.exact or self.pattern)


def asked(text: str) -> Request:
    """Take a query apart.

    Raises WrongParam if its regular expression is not valid or not safe, or a language unknown.
    """
    text = text[:LONGEST_TEXT].strip()
    if "\n" in text or frames(text):
        return Request(text, Filters())
    if not _MARKS.search(text):
        return Request(" ".join(text.split()), Filters())
    return _Reader(text, quotes_count=not is_message(_EXACT.sub(" ", text))).read()


class _Reader:
    """One pass over a query."""

    def __init__(self, text: str, *, quotes_count: bool) -> None:
        self._text = text
        self._quotes_count = quotes_count
        self._words: list[str] = []
        self._exact: dict[str, None] = {}
        self._pattern: re.Pattern[str] | None = None
        self._filters: dict[str, dict[str, None]] = defaultdict(dict)

    def read(self) -> Request:
        place = 0
        while place < len(self._text):
            space = _SPACE.match(self._text, place)
            place = space.end() if space else self._word(place)
        values = {name: tuple(found) for name, found in self._filters.items()}
        languages = frozenset(values.pop("languages", ()))
        not_languages = frozenset(values.pop("not_languages", ()))
        return Request(
            words=" ".join(self._words),
            filters=Filters(languages=languages, not_languages=not_languages, **values),
            exact=tuple(self._exact),
            pattern=self._pattern,
        )

    def _word(self, place: int) -> int:
        """Read what begins at ``place``; returns where it ends."""
        escaped = _ESCAPED.match(self._text, place)
        if not escaped:
            for read in (self._filter, self._literal, self._regex):
                end = read(place)
                if end:
                    return end
        word = _WORD.match(self._text, escaped.end() if escaped else place)
        if not word:
            return len(self._text)
        self._words.append(word.group())
        return word.end()

    def _filter(self, place: int) -> int | None:
        found = _FILTER.match(self._text, place)
        if not found:
            return None
        value = found["value"] or _unescaped(found[3])
        values = [value]
        if found["kind"] == "lang":
            each = [languages_called(name) for name in value.split(",")]
            for name, called in zip(value.split(","), each, strict=True):
                if not called and self._quotes_count:
                    raise refusal(f'no language is called "{name}"', name, known_languages())
            if not all(each):  # in a message it is text like the rest
                return None
            values = sorted(frozenset().union(*each))
        field = ("not_" if found["without"] else "") + _FIELDS[found["kind"]]
        self._filters[field] |= dict.fromkeys(values)
        return found.end()

    def _literal(self, place: int) -> int | None:
        found = _EXACT.match(self._text, place) if self._quotes_count else None
        if not found or len(self._exact) >= MOST_EXACT:
            return None
        self._exact[_unescaped(found[1])] = None
        return found.end()

    def _regex(self, place: int) -> int | None:
        found = _REGEX.match(self._text, place) if self._pattern is None else None
        if not found:
            return None
        self._pattern = compiled(found["body"], ignore_case=bool(found["flags"]))
        return found.end()


def _unescaped(quoted: str) -> str:
    return _BACKSLASH.sub(r"\1", quoted)
