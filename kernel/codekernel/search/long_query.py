"""Split a pasted report into the questions that it is made of.

The title, the prose, the names and the stack trace of an issue are different questions: asked as
one, the longest drowns the others. Each part is searched for itself, and the rankings are fused.
"""

import re

from codekernel.search.query_syntax import parse_stack_trace

# A shorter text is one question.
MIN_LONG_QUERY_WORDS = 25

# A longer first line is a paragraph, and its first sentence the title.
_MAX_TITLE_WORDS = 30

_MIN_TITLE_WORDS = 3

MAX_PROSE_CHARS = 1_500

MAX_NAMES = 60

_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)

_FENCED_CODE = re.compile(r"```[^\n]*\n?(.*?)(?:```|\Z)", re.DOTALL)

_CODE_LINE = re.compile(r"(?: {4}|\t|>>> |\.\.\. |In \[\d+\])")

# Headings and check lists of a template, and the versions that it asks for.
_TEMPLATE_LINE = re.compile(
    r"\s*(?:#|\*\*[^*]*\*\*:?\s*$|[-*] \[.\]"
    r"|[-*]?\s*(?:\w+ version|version|os|platform|python)\b.{0,40}$)",
    re.IGNORECASE,
)

_SENTENCE_END = re.compile(r"(?<=[.!?])\s")

# Of its lines; the others of a trace are lines of code.
_MIN_FRAME_SHARE = 1 / 3

# What cannot be an ordinary word: snake_case, CamelCase, a.dotted.name.
_NAME = re.compile(
    r"\b(?:[A-Za-z]+_[A-Za-z0-9_]+|[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+|[a-z_]\w*(?:\.[A-Za-z_]\w*)+)"
)


def split_long_query(text: str) -> tuple[str, ...]:
    """Return the text and its parts; the text alone if it is one question.

    SWE-bench Lite, 41 reports of the development half, whole / with title, prose, names and stack
    trace: acc@1 .561 / .634, acc@5 .756 / .878, acc@10 .805 / .927, all weighted alike. Fused by
    ranks instead of scores: .537 .878 .927; the code samples as a part, too: .610 .878 .927.
    """
    text = text.strip()
    title, body = _split_title(text)
    if (
        len(text.split()) < MIN_LONG_QUERY_WORDS
        or len(title.split()) < _MIN_TITLE_WORDS
        or _CODE_LINE.match(title)
        or _is_mostly_trace(text)
    ):
        return (text,)
    code = "\n".join(_FENCED_CODE.findall(body))
    lines = _FENCED_CODE.sub("\n", _COMMENT.sub("", body)).splitlines()
    code += "\n" + "\n".join(line for line in lines if _CODE_LINE.match(line))
    prose = " ".join(
        line.strip()
        for line in lines
        if line.strip() and not _CODE_LINE.match(line) and not _TEMPLATE_LINE.match(line)
    )
    names = list(dict.fromkeys(_NAME.findall(text)))[:MAX_NAMES]
    trace = code if parse_stack_trace(code) else ""
    parts = (title, prose[:MAX_PROSE_CHARS], " ".join(names), trace)
    return tuple(dict.fromkeys((text, *(part for part in parts if part.strip()))))


def _split_title(text: str) -> tuple[str, str]:
    first, _, rest = text.partition("\n")
    if len(first.split()) <= _MAX_TITLE_WORDS:
        return first.strip(), rest
    title, *sentences = _SENTENCE_END.split(first, maxsplit=1)
    return title.strip(), "\n".join((*sentences, rest))


def _is_mostly_trace(text: str) -> bool:
    lines = [line for line in text.splitlines() if line.strip()]
    frame_count = sum(bool(parse_stack_trace(line)) for line in lines)
    return frame_count >= _MIN_FRAME_SHARE * len(lines)
