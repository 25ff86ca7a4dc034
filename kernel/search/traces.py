"""Stack traces of Python, Java, JavaScript, Go, Rust, C#, Ruby and PHP: their frames."""

import re
from typing import NamedTuple

from kernel.search.mentions import Mention, mention

# Deeper frames are those of a framework's inside.
MOST_FRAMES = 40

# Each names a path, a line and perhaps a function. Lengths are bounded: a pasted text may be
# anything. Line ends are any white space, because a field of one line turns them into blanks.
_FRAMES = tuple(
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
# What every frame has; most queries do not, and cost nothing then.
_LINE = re.compile(r"(?::|line |\()\d")
# Python prints the innermost frame last, everybody else first.
_INNERMOST_LAST = "most recent call last"

_BETWEEN_NAMES = re.compile(r"::|->|[.#\\/]")
_GENERIC = re.compile(r"<[^<>]*>|`\d+|\[[^\[\]]*\]")
_NAME = re.compile(r"[^\W\d]\w*[!?]?")
_HASH_OF_RUST = re.compile(r"h[0-9a-f]{16}")
# What a compiler calls functions that have no name.
_NAMELESS = re.compile(r".*(?:<(?:anonymous|module|lambda|init|clinit|\w*comp|genexpr)>|\.ctor)")


class Frame(NamedTuple):
    """A place and the function it is in; empty if the trace does not say."""

    place: Mention
    function: str


def frames(text: str) -> tuple[Frame, ...]:
    """The frames of a trace, the innermost first; none if the text is no trace."""
    if not _LINE.search(text):
        return ()
    found: dict[Mention, tuple[int, Frame]] = {}
    for pattern in _FRAMES:
        for match in pattern.finditer(text):
            frame = _frame(match.groupdict())
            known = found.get(frame.place)
            if known is None or (frame.function and not known[1].function):
                found[frame.place] = (match.start(), frame)
    ordered = [frame for _, frame in sorted(found.values(), key=lambda it: it[0])]
    if _INNERMOST_LAST in text or (ordered and 'File "' in text):
        ordered.reverse()
    return tuple(ordered[:MOST_FRAMES])


def _frame(match: dict[str, str | None]) -> Frame:
    function = match.get("function") or ""
    path = match.get("path")
    if path is None:  # Java names the class with its package, and the file without its folder
        package = function.rpartition("/")[2].split(".")[:-2]
        path = "/".join((*package, match["file"] or ""))
    return Frame(mention(path, match["line"] or "0"), _last_name(function))


def _last_name(function: str) -> str:
    """The function's own name: ``handle`` of ``main.(*Server).handle``."""
    if _NAMELESS.fullmatch(function):
        return ""
    for name in reversed(_BETWEEN_NAMES.split(_GENERIC.sub("", function))):
        plain = name.strip("(){}*$ ")
        if _NAME.fullmatch(plain) and not _HASH_OF_RUST.fullmatch(plain):
            return plain
    return ""
