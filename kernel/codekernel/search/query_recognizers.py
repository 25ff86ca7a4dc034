"""Recognize file paths with lines, error messages and stack traces in a query."""

import re
from typing import NamedTuple

from codekernel.domain.source_files import UNKNOWN_LANGUAGE, detect_language

# No member of a class has such a name, so ``bar.py`` alone is a file; ``request.json``, ``app.run``
# or ``foo.go`` may be code and are files only together with a folder or a line.
_FILE_ONLY_EXTENSION_TEXT = (
    "py pyi js mjs cjs jsx ts tsx mts java kt kts rs cc cpp cxx hpp hh rb php swift scala lua sh "
    "hs ex exs zig sql html css scss yaml yml toml vue svelte md rst cs csproj ipynb proto"
)

_FILE_ONLY_EXTENSIONS = frozenset(_FILE_ONLY_EXTENSION_TEXT.split())

_MAX_PATH_CHARS = 500

_LINE_SUFFIX = r"(?::(?P<line>\d{1,9})(?::\d{1,9})?|\#L(?P<anchor>\d{1,9})(?:-L?\d{1,9})?)?"

_FILE_MENTION = re.compile(
    rf"(?P<path>(?:[A-Za-z]:(?=[\\/]))?[^\s:\"'`<>|*?#,;=]{{1,{_MAX_PATH_CHARS}}}){_LINE_SUFFIX}"
)

_URL_OR_DRIVE_PREFIX = re.compile(r"^(?:\w{2,10}:/+(?:[\w.-]+:\d+/)?|[A-Za-z]:(?=[\\/]))|\?.*$")

_PATH_CHARACTERS = re.compile(r"[\w.@~+\-\[\]$()%{}!&/\\ ]*\w[\w.@~+\-\[\]$()%{}!&/\\ ]*")

# What comes before an extension or a line.
_EXTENSION_OR_LINE_MARKS = re.compile(r"[.:#]")

_SURROUNDING_PUNCTUATION = "()[]{}.,;!?"


class FileMention(NamedTuple):
    """A path as the query mentions it, separated by '/', and a line counted from 1."""

    path: str
    line: int | None = None


def parse_file_mention(text: str) -> FileMention | None:
    """Return the file that the whole text is, if it is one."""
    found = _FILE_MENTION.fullmatch(text.strip())
    if not found or not _PATH_CHARACTERS.fullmatch(
        found["path"].partition(":")[2] or found["path"]
    ):
        return None
    mention = _build_mention(found)
    is_file = _is_file_name(mention) or _is_source_line(mention) or "/" in mention.path
    return mention if mention.path and is_file else None


def find_file_mentions(text: str) -> tuple[FileMention, ...]:
    """Return the files that a sentence certainly mentions, by extensions that only files have.

    Node.js and Vue.js are no files; with a folder or a line they would be.
    """
    found: dict[FileMention, None] = {}
    if not _EXTENSION_OR_LINE_MARKS.search(text):
        return ()
    for word in text.split():
        match = _FILE_MENTION.fullmatch(word.strip(_SURROUNDING_PUNCTUATION).rstrip(":"))
        if not match or "://" in word:
            continue
        mention = _build_mention(match)
        is_certain = mention.line or "/" in mention.path or not mention.path.endswith(".js")
        if (_is_file_name(mention) and is_certain) or (mention.line and _is_source_line(mention)):
            found[mention] = None
    return tuple(found)


def _build_mention(match: re.Match[str]) -> FileMention:
    line = match["line"] or match["anchor"]
    return FileMention(_normalize_path(match["path"]), int(line) if line else None)


def _is_file_name(mention: FileMention) -> bool:
    name, dot, extension = mention.path.rpartition(".")
    return bool(dot and name.strip("./\\")) and extension.lower() in _FILE_ONLY_EXTENSIONS


def _is_source_line(mention: FileMention) -> bool:
    return mention.line is not None and detect_language(mention.path) != UNKNOWN_LANGUAGE


def _normalize_path(path: str) -> str:
    """Return the path without a scheme, a drive, and parts like "..", separated by '/'."""
    path = _URL_OR_DRIVE_PREFIX.sub("", path[:_MAX_PATH_CHARS]).replace("\\", "/")
    return "/".join(part for part in path.split("/") if part not in {"", ".", "..", "~"})


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
    if _CERTAIN_ERROR.search(text):
        return True
    return bool(
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
    function = match.get("function") or ""
    path = match.get("path")
    if path is None:  # Java names the class with its package, and the file without its folder
        package = function.rpartition("/")[2].split(".")[:-2]
        path = "/".join((*package, match["file"] or ""))
    mention = FileMention(_normalize_path(path), int(match["line"] or "0"))
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
