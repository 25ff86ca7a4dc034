"""Values that are assigned to the name of a secret, in source, configuration, commands and logs.

A text is searched for the words of ``names``; what stands behind each is matched from there, so a
text without them costs nothing. The line decides how much is believed: in a line of configuration
whatever is not a stand-in is a password, in source a value must look like one.
"""

import re
from collections.abc import Iterator

from kernel.masking.assigned_values import Setting, is_bare_secret, is_quoted_secret
from kernel.masking.names import KEYWORDS, NameKind, classify_name
from kernel.masking.rules import Span

MAX_NAME_CHARACTERS = 60
# Before the name in its line: a path, a line number, a comment sign.
MAX_LINE_HEAD_CHARACTERS = 240

_BEHIND = re.compile(
    r"(?P<rest>(?:[\w.]|-(?!>)){0,50}+)(?:\[\w{0,4}\])?(?P<closing>\\{0,3}[\"'`]?\]?\)?)"
    r"(?P<typed>(?:\s{0,3}:\s{0,2}|[ \t])[&\w<>\[\].'|*?]{1,40}(?=\s{0,2}=[^=>]))?"
    r"(?P<sep>[ \t]{0,60}(?::{1,2}=|=>|->|<-|[!=]==?|\?=|\|\|=?|=|:|%3[Dd]|&equals;)\s{0,60}"
    r"|,[ \t]{0,4}(?=\\{0,3}[\"'`])"
    r"|\(\s{0,20}(?=[bBrRuU@]?\\{0,3}[\"'`])"
    r"|>(?=[^<>\s])"
    r"|\(\)[^\n\"'`]{0,60}\breturn\s{1,3}(?=\\{0,3}[\"'`])"
    r"|\s{1,20}(?:value|content)\s?=\s?(?=\\{0,3}[\"'])"
    r"|,?\s{1,60}\\{0,3}[\"']?(?:value|Value|VALUE)\\{0,3}[\"']?\s{0,3}[:=]\s{0,3}"
    r"|[ \t]{1,8}(?=\\{0,3}[\"'])"
    r"|[ \t]+(?:is|was|to|of|as)?:?[ \t]*(?=[\"'`\\]?[A-Za-z0-9+/_.~-]{8})"
    r"|(?<=[\w\"']) (?:for|of|from|in)[\w .'-]{1,30}[:=]\s?(?=[\"'`\\]?[A-Za-z0-9+/_.~-]{12})"
    r")"
    r"(?:[bBrRuUfFL@$]{0,2}\\{0,3}(?:\"(?P<double>(?:[^\"\n\\]|\\(?!\")[^\n]){1,2500})\\{0,3}\""
    r"|'(?P<single>(?:[^'\n\\]|\\(?!')[^\n]){1,2500})\\{0,3}'"
    r"|`(?P<back>[^`\n\\]{1,500})`)"
    r"|(?P<bare>[^\s\"'`<>(){}\[\],;|\\][^\s\"'`<>(){}\[\],;|\\]{0,500}))"
)
_NAME_BEFORE = re.compile(r"[\w.\-]*\Z")
# What may stand before the name in a line of configuration, also when the line is shown with its
# number, its file or the sign of a patch.
_LINE_HEAD = re.compile(
    r"(?:[\w./@ -]{1,200}:\d+:|[ \t]*\d+[ \t]*(?:\||>>>|:|\t)|[+-](?![+-]))?[ \t>|]*"
    r"(?:#+[ \t]*|//[ \t]*|;[ \t]*|- )?"
    r"(?:(?:export|set|setx|env|ENV|ARG|declare(?: -x)?|SET)[ \t]+"
    r"|-e[ \t]+|--env[ \t=]+|--[a-z-]*|\$env:|Environment=[\"']?)?[\"']?\Z"
)
_REST_OF_LINE = re.compile(r"[^\n\r]{1,500}")
_COMMENT = re.compile(r"[ \t]+(?:#|//|;|--).*$")


def scan_assigned(text: str, lowered: str) -> Iterator[Span]:
    """Yield the values that names give away; ``lowered`` is the text in lower case."""
    tried = set[int]()
    for keyword in KEYWORDS:
        place = lowered.find(keyword)
        while place >= 0:
            match = _BEHIND.match(text, place)
            if match and match.end("sep") not in tried:
                tried.add(match.end("sep"))
                span = _judge(text, place, match)
                if span:
                    yield span
            place = lowered.find(keyword, place + len(keyword))


def _judge(text: str, place: int, match: re.Match[str]) -> Span | None:
    before = _NAME_BEFORE.search(text, max(0, place - MAX_NAME_CHARACTERS), place)
    name_start = before.start() if before else place
    kind = classify_name(text[name_start : match.end("rest")])
    if kind is None or not _is_given(text, name_start, match):
        return None
    for group in ("double", "single", "back"):
        if match[group] is not None:
            # A constant: ``#define PASSWORD "..."``, while ``pass `--flag` `` is a sentence.
            is_spoken = not match["sep"].strip() and not text[place].isupper()
            is_secret = is_quoted_secret(kind, match[group], is_spoken=is_spoken)
            return Span(*match.span(group), kind.value) if is_secret else None
    return _judge_bare(text, name_start, match, kind)


def _judge_bare(text: str, name_start: int, match: re.Match[str], kind: NameKind) -> Span | None:
    begin, end = match.span("bare")
    is_config = _is_config_line(text, name_start, match)
    if is_config:
        rest = _REST_OF_LINE.match(text, begin)
        line = _COMMENT.sub("", rest[0]).rstrip() if rest else ""
        if " " not in line and "\\n" not in line:
            end = max(end, begin + len(line))
    else:
        end = min(end, (text.find("&", begin, end) + 1 or end + 1) - 1)
    value = text[begin:end].rstrip(".")
    setting = Setting(match["sep"], text[end : end + 1], is_config=is_config)
    return (
        Span(begin, begin + len(value), kind.value)
        if is_bare_secret(kind, value, setting)
        else None
    )


def _is_given(text: str, name_start: int, match: re.Match[str]) -> bool:
    """Return whether ``name, "value"`` and ``name("value"`` give the name its value.

    Names in a list follow each other, and a method is called with something else.
    """
    sign = match["sep"][:1]
    if sign == "(":
        return "." not in match["rest"]
    if sign == "," and match["closing"]:
        return text[max(0, name_start - 6) : name_start].rstrip("\"'`\\ ").endswith("(")
    return True


def _is_config_line(text: str, name_start: int, match: re.Match[str]) -> bool:
    """Return whether the line is ``name=value`` or ``name: value`` and nothing else."""
    separator = match["sep"].strip()
    if "alue" in separator:
        return True  # name and value are two entries
    if separator not in {"=", ":"} or match["typed"] or "\n" in match["sep"]:
        return False
    line_start = text.rfind("\n", 0, name_start) + 1
    is_near = name_start - line_start <= MAX_LINE_HEAD_CHARACTERS
    if not is_near or not _LINE_HEAD.match(text, line_start, name_start):
        return False
    rest = _REST_OF_LINE.match(text, match.end("bare"))
    behind = rest[0].rstrip() if rest else ""
    if behind.endswith((",", ";", "{", "(", "[")):
        return False  # source
    is_end = behind[:1] in {" ", "\t"} or behind[1:2] in {"", " ", "\t"}
    if not behind or not is_end or _COMMENT.fullmatch(behind):
        return True
    # A variable set for one command.
    return match["sep"] == "=" and behind[0] in " \t" and text[name_start].isupper()
