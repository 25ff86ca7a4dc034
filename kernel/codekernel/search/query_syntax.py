"""Recognize the parts of a query.

parse_search_expression splits the text into filters (lang: path: file: symbol: scope: repo:,
negated with a minus) and either plain text, or "exact strings" and one /regex/: beside plain text,
quotes and slashes are punctuation. A backslash makes ordinary text of any of them, and in error
messages, stack traces and multi-line text no syntax counts. The other functions find error messages
and stack traces.
"""

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import Any, NamedTuple

from codekernel.search.file_mentions import FileMention, normalize_path
from codekernel.search.filters import (
    NO_FILTERS,
    Filters,
    build_unknown_value_error,
    list_language_names,
    resolve_file_kinds,
    resolve_languages,
)
from codekernel.search.safe_regex import MAX_PATTERN_CHARS, compile_regex

# A long stack trace; the rest of a pasted page is ignored.
MAX_QUERY_CHARS = 16_384

# Longer than any path.
MAX_FILTER_VALUE_CHARS = 500

# Every file is scanned for each.
MAX_EXACT_STRINGS = 16
MAX_EXACT_STRING_CHARS = 1_000

_QUOTED = rf'"((?:[^"\\]|\\.){{1,{MAX_EXACT_STRING_CHARS}}})"'
_FILTER_END = r"(?=\s|$)"

# Without one of these a query is plain text, as most are.
_SYNTAX_MARKS = re.compile(r'[:"/\\]')

_KINDS = "lang|path|file|kind|symbol|scope|repo"

_ESCAPED = re.compile(rf'\\(?=-?(?:{_KINDS}):\S|["/])')

_FILTER = re.compile(
    rf"(?P<negated>-?)(?P<kind>{_KINDS}):"
    rf"(?:{_QUOTED}|(?P<value>(?!:|//|\")\S{{1,{MAX_FILTER_VALUE_CHARS}}})){_FILTER_END}"
)

_EXACT = re.compile(_QUOTED + _FILTER_END)

_REGEX = re.compile(
    rf"/(?P<body>(?!\s)(?:\\[^\n]|\[(?:\\[^\n]|[^\]\\\n]){{1,200}}\]|[^/\\\[\n])"
    rf"{{1,{MAX_PATTERN_CHARS + 1}}})(?<!\s)/(?P<flags>i?){_FILTER_END}"
)

_WORD = re.compile(r"\S+")
_BACKSLASH = re.compile(r'\\(["\\])')
_FILTER_FIELDS = {
    "lang": "languages",
    "path": "paths",
    "file": "files",
    "kind": "kinds",
    "symbol": "symbols",
    "scope": "scopes",
    "repo": "repos",
}


@dataclass(frozen=True, slots=True)
class SearchExpression:
    """A query split by its syntax; ``plain_text`` is the rest."""

    plain_text: str
    filters: Filters
    exact_strings: tuple[str, ...] = ()
    regex: re.Pattern[str] | None = None

    @property
    def query_text(self) -> str:
        """Return the plain text; without any, the names in the filters."""
        return self.plain_text.strip() or self.filters.names_as_text

    @property
    def is_literal(self) -> bool:
        """Return whether the texts must be scanned for exact strings or a regex."""
        return bool(self.exact_strings or self.regex)


def parse_search_expression(text: str) -> SearchExpression:
    """Split a query into plain text, filters, exact strings and a regex.

    Raises WrongParam for a regex that is invalid or unsafe and for an unknown language.
    """
    text = text[:MAX_QUERY_CHARS].strip()
    if "\n" in text or parse_stack_trace(text):
        return SearchExpression(text, NO_FILTERS)
    if not _SYNTAX_MARKS.search(text):
        return SearchExpression(" ".join(text.split()), NO_FILTERS)
    is_error = is_error_message(_EXACT.sub(" ", text))
    return _parse_syntax(text, is_error=is_error, is_prose=is_error)


def _parse_syntax(text: str, *, is_error: bool, is_prose: bool) -> SearchExpression:
    """Read a query token by token; in prose quotes and slashes are text.

    In an error message unknown languages are text, too.
    """
    words: list[str] = []
    exact_strings: dict[str, None] = {}
    regex: re.Match[str] | None = None
    filters: dict[str, dict[str, None]] = defaultdict(dict)
    end = 0
    while word := _WORD.search(text, end):
        begin, end = word.span()
        if escaped := _ESCAPED.match(text, begin):
            words.append(text[escaped.end() : end])
        elif (found := _FILTER.match(text, begin)) and (
            values := _parse_filter_values(found, is_error=is_error)
        ):
            kind = ("not_" if found["negated"] else "") + _FILTER_FIELDS[found["kind"]]
            filters[kind] |= dict.fromkeys(values)
            end = found.end()
        elif (
            not is_prose
            and len(exact_strings) < MAX_EXACT_STRINGS
            and (found := _EXACT.match(text, begin))
        ):
            exact_strings[_unescape(found[1])] = None
            end = found.end()
        elif not is_prose and regex is None and (found := _REGEX.match(text, begin)):
            regex = found
            end = found.end()
        else:
            words.append(word.group())
    fields: dict[str, Any] = {
        name: frozenset(values) if name.endswith("languages") else tuple(values)
        for name, values in filters.items()
    }
    if words and (exact_strings or regex):
        # Quotation marks and slashes in a sentence are punctuation.
        return _parse_syntax(text, is_error=is_error, is_prose=True)
    pattern = _compile_regex(regex) if regex else None
    return SearchExpression(" ".join(words), Filters(**fields), tuple(exact_strings), pattern)


def _compile_regex(found: re.Match[str]) -> re.Pattern[str]:
    return compile_regex(found["body"], ignore_case=bool(found["flags"]))


def _parse_filter_values(found: re.Match[str], *, is_error: bool) -> list[str]:
    """Return the values of a filter; none for an unknown language in an error message."""
    value = found["value"] or _unescape(found[3])
    if found["kind"] == "kind":
        return [] if is_error else resolve_file_kinds(value)
    if found["kind"] != "lang":
        return [value]
    languages = {name: resolve_languages(name) for name in value.split(",")}
    unknown = next((name for name, resolved in languages.items() if not resolved), None)
    if unknown is None:
        return sorted(frozenset().union(*languages.values()))
    if is_error:
        return []
    message = f'no language is called "{unknown}"'
    raise build_unknown_value_error(message, unknown, list_language_names())


def _unescape(quoted: str) -> str:
    return _BACKSLASH.sub(r"\1", quoted)


# A text with one of these is an error message; people do not ask for code so.
_CERTAIN_ERROR = re.compile(
    r"\b\w*(?:Error|Exception|Panic)\b\s?:"
    r"|\b(?:error|fatal|fatal error|panic|exception|uncaught|unhandled)(?:\[\w{1,12}\])?:\s"
    r"|\b(?:is not defined|is not a function|is not callable|is not iterable|is not subscriptable"
    r"|no such file or directory|undefined reference to|segmentation fault|has no attribute"
    r"|cannot read propert(?:y|ies) of|cannot find module|cannot import name|no module named"
    r"|unexpected token|unexpected keyword argument|missing \d+ required|nil pointer dereference"
    r"|index out of (?:range|bounds)|cannot borrow|cannot be null|does not exist on type"
    r"|is not assignable to|unresolved import|command not found|core dumped)\b",
    re.IGNORECASE,
)

# A text with one of these is, if it also has a value that only a message has.
_POSSIBLE_ERROR = re.compile(
    r"\b(?:cannot|can't|could not|couldn't|unable to|failed to|failed with|not found|invalid"
    r"|unknown|unexpected|undefined|expected|missing|must be|refused|denied|timed out"
    r"|already exists|does not exist|out of memory|unsupported|illegal)\b",
    re.IGNORECASE,
)

_QUESTION_START = re.compile(
    r"\s*(?:how|where|what|why|which|when|who|is there|find|show|list)\b", re.IGNORECASE
)

_QUOTED_VALUE = re.compile(
    r"(?<!\w)'([^'\n]{1,200})'(?!\w)|\"([^\"\n]{1,200})\"|`([^`\n]{1,200})[`']"
    "|[\u2018\u201c]([^\u2019\u201d\n]{1,200})[\u2019\u201d]"
)

_VARIABLE_VALUES = re.compile(
    r"\b0[xX][0-9a-fA-F]+\b"
    r"|\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"
    r"|\b\w{2,10}://[^\s]{1,500}"
    r"|(?<![\w.])(?:[A-Za-z]:)?[\\/][\w.\-+@]{1,200}(?:[\\/][\w.\-+@]{1,200})*[:\d]*"  # a path
    r"|[\w./\\-]{1,300}\.\w{1,5}(?::\d{1,9}){1,2}"  # a file and a line
    r"|\b\d[\d.,:TZ+-]*\b"
)

_IDENTIFIER = re.compile(r"[^\W\d]\w{2,}")
# With fewer words left, the message is about the values.
_MIN_CONSTANT_WORDS = 2


def is_error_message(text: str) -> bool:
    """Return whether the text is an error message."""
    if _QUESTION_START.match(text):
        return False
    return bool(_CERTAIN_ERROR.search(text)) or bool(
        _POSSIBLE_ERROR.search(text)
        and (_QUOTED_VALUE.search(text) or _VARIABLE_VALUES.search(text))
    )


def strip_variable_values(text: str) -> str:
    """Return the message without its values: numbers, addresses, paths, quoted text."""
    constant = " ".join(_VARIABLE_VALUES.sub(" ", _QUOTED_VALUE.sub(" ", text)).split())
    return constant if len(_IDENTIFIER.findall(constant)) >= _MIN_CONSTANT_WORDS else text


def find_quoted_names(text: str) -> frozenset[str]:
    """Return the quoted values that may be names in the code."""
    values = ("".join(groups) for groups in _QUOTED_VALUE.findall(text))
    return frozenset(value for value in values if _IDENTIFIER.fullmatch(value))


# Deeper frames are inside of a framework.
MAX_STACK_FRAMES = 40

# Each captures a path, a line and perhaps a function. Lengths are bounded, because a pasted text
# may be anything. Line ends are any white space, because a text field turns them into spaces.
_FRAME_PATTERNS = tuple(
    re.compile(pattern)
    for pattern in (
        (
            r'File "(?P<path>[^"\n]{1,400})", line (?P<line>\d{1,9})'
            r"(?:, in (?P<function>[\w.<>]{1,200}))?"
        ),
        (
            r"\bat\s{1,9}(?P<function>[\w$.<>/@-]{1,300})"
            r"\((?P<file>[\w$-]{1,200}\.(?:java|kt|scala|groovy|clj)):(?P<line>\d{1,9})\)"
        ),
        (
            r"\bat\s{1,9}(?P<function>[\w.`<>+\[\],]{1,300})\([^()\n]{0,300}\)\s{1,9}in\s{1,9}"
            r"(?P<path>[^\n]{1,300}?):line\s(?P<line>\d{1,9})"
        ),
        (
            r"\d{1,4}:\s{1,9}(?:0x[0-9a-f]{1,16} - )?(?P<function>[^\s]{1,300})\s{1,40}at\s{1,9}"
            r"(?P<path>[^\s:]{1,300}\.rs):(?P<line>\d{1,9})"
        ),
        r"panicked at (?:'[^'\n]{0,300}', )?(?P<path>[^\s:']{1,300}\.rs):(?P<line>\d{1,9})",
        (
            r"\bat\s{1,9}(?:async\s)?(?:new\s)?(?:(?P<function>[\w$.<>\[\]#]{1,200})"
            r"(?: \[as [^\]\n]{1,80}\])? \()?"
            r"(?P<path>(?:\w{2,10}:/{2,3}(?:[\w.-]{1,80}:\d{1,5})?|[A-Za-z]:(?=[\\/]))?"
            r"[^\s():]{1,300}):(?P<line>\d{1,9}):\d{1,9}"
        ),
        (
            r"(?P<function>[\w$.<>]{0,200})@\w{2,10}:/{2,3}(?:[\w.-]{1,80}:\d{1,5})?"
            r"(?P<path>/[^\s():]{1,300}):(?P<line>\d{1,9}):\d{1,9}"
        ),
        (
            r"(?P<function>[\w./*()%-]{1,200})\([^()\n]{0,200}\)\s{1,9}"
            r"(?P<path>[^\s:()]{1,300}\.go):(?P<line>\d{1,9})"
        ),
        r"(?P<path>[^\s:]{1,300}\.go):(?P<line>\d{1,9}) \+0x",
        r"(?P<path>[^\s:]{1,300}\.rb):(?P<line>\d{1,9}):in [`'](?P<function>[^'\n]{1,200})'",
        (
            r"\#\d{1,4} (?P<path>[^\s(]{1,300}\.php)\((?P<line>\d{1,9})\): "
            r"(?P<function>[\w\\:>$-]{1,200})"
        ),
    )
)

# Every frame has this and most queries do not, which makes them cheap.
_FRAME_LINE = re.compile(r"(?::|line |\()\d")

# Python prints the innermost frame last, other languages first.
_INNERMOST_LAST = "most recent call last"

_NAME_SEPARATOR = re.compile(r"::|->|[.#\\/]")
_GENERIC_ARGUMENTS = re.compile(r"<[^<>]*>|`\d+|\[[^\[\]]*\]")
_FUNCTION_NAME = re.compile(r"[^\W\d]\w*[!?]?")
_RUST_HASH = re.compile(r"h[0-9a-f]{16}")

# What compilers call functions without a name.
_ANONYMOUS_FUNCTION = re.compile(
    r".*(?:<(?:anonymous|module|lambda|init|clinit|\w*comp|genexpr)>|\.ctor)"
)


class StackFrame(NamedTuple):
    """A file, a line, and the function around it; empty if the trace does not say."""

    mention: FileMention
    function: str


def parse_stack_trace(text: str) -> tuple[StackFrame, ...]:
    """Return the frames of a stack trace, the innermost first; none if the text is no trace."""
    if not _FRAME_LINE.search(text):
        return ()
    found: dict[FileMention, tuple[int, StackFrame]] = {}
    for pattern in _FRAME_PATTERNS:
        for match in pattern.finditer(text):
            frame = _build_frame(match.groupdict())
            known = found.get(frame.mention)
            if known is None or (frame.function and not known[1].function):
                found[frame.mention] = (match.start(), frame)
    ordered = [frame for _, frame in sorted(found.values(), key=lambda it: it[0])]
    if _INNERMOST_LAST in text or (ordered and 'File "' in text):
        ordered.reverse()
    return tuple(ordered[:MAX_STACK_FRAMES])


def _build_frame(match: dict[str, str | None]) -> StackFrame:
    function, path = match.get("function") or "", match.get("path")
    if path is None:  # Java names the class with its package, and the file without its folder
        package = function.rpartition("/")[2].split(".")[:-2]
        path = "/".join((*package, match["file"] or ""))
    mention = FileMention(normalize_path(path), int(match["line"] or "0"))
    return StackFrame(mention, _extract_function_name(function))


def _extract_function_name(function: str) -> str:
    """Return a function's own name: ``handle`` of ``main.(*Server).handle``."""
    if _ANONYMOUS_FUNCTION.fullmatch(function):
        return ""
    for name in reversed(_NAME_SEPARATOR.split(_GENERIC_ARGUMENTS.sub("", function))):
        plain = name.strip("(){}*$ ")
        if _FUNCTION_NAME.fullmatch(plain) and not _RUST_HASH.fullmatch(plain):
            return plain
    return ""
