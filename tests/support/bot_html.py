"""Telegram's HTML as its Bot API parses it: the text, its entities, and the refusals' words."""

import re
from dataclasses import dataclass
from typing import Any

MAX_UNITS = 4096
MAX_ENTITIES = 100
TAG = re.compile(r"<(?P<end>/?)(?P<name>[a-zA-Z0-9-]*)(?P<attributes>[^<>]*)>")
ATTRIBUTE = re.compile(r"\s*([a-zA-Z-]+)(?:=(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+)))?")
NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"'}
REFERENCE = re.compile(r"&(?:#(\d{1,8})|#x([0-9a-fA-F]{1,6})|(lt|gt|amp|quot));?")
KINDS = {
    "b": "bold",
    "strong": "bold",
    "i": "italic",
    "em": "italic",
    "u": "underline",
    "ins": "underline",
    "s": "strikethrough",
    "strike": "strikethrough",
    "del": "strikethrough",
    "tg-spoiler": "spoiler",
    "a": "text_link",
    "code": "code",
    "pre": "pre",
    "blockquote": "blockquote",
}


class BadHtmlError(Exception):
    """The HTML is refused; the message is the platform's."""


@dataclass
class OpenTag:
    name: str
    kind: str
    begin: int
    extra: dict[str, Any]


@dataclass(frozen=True)
class ParsedText:
    """``problems`` are things that the platform mends without a word."""

    text: str
    entities: list[dict[str, Any]]
    problems: list[str]


def count_units(text: str) -> int:
    return len(text.encode("utf-16-le")) // 2


def parse_html(source: str) -> ParsedText:
    """Parse a message. Raises BadHtmlError."""
    parts: list[str] = []
    units = 0
    stack: list[OpenTag] = []
    entities: list[dict[str, Any]] = []
    problems: list[str] = []
    at = 0
    while at < len(source):
        if source[at] != "<":
            end = source.find("<", at)
            piece = _decode(source[at : len(source) if end < 0 else end])
            parts.append(piece)
            units += count_units(piece)
            at = len(source) if end < 0 else end
            continue
        offset = len(source[:at].encode())
        tag = TAG.match(source, at)
        if tag is None:
            raise BadHtmlError(f"Unclosed start tag at byte offset {offset}")
        at = tag.end()
        if tag["end"]:
            _close(tag["name"].lower(), stack, entities, units, offset)
        else:
            _open(tag, stack, units, offset, problems)
    if stack:
        name, offset = stack[-1].name, len(source.encode())
        raise BadHtmlError(
            f'Can\'t find end tag corresponding to start tag "{name}" at byte offset {offset}'
        )
    if len(entities) > MAX_ENTITIES:
        problems.append(f"{len(entities)} entities")
    entities.sort(key=lambda it: (it["offset"], -it["length"]))
    return ParsedText("".join(parts), entities, problems)


def _open(
    tag: re.Match[str], stack: list[OpenTag], units: int, offset: int, problems: list[str]
) -> None:
    name = tag["name"].lower()
    given = {key: a or b or c for key, a, b, c in ATTRIBUTE.findall(tag["attributes"])}
    if name not in KINDS:
        raise BadHtmlError(f'Unsupported start tag "{name}" at byte offset {offset}')
    kind, extra = KINDS[name], dict[str, Any]()
    if name == "a":
        extra["url"] = _decode(given.get("href", ""))
    if name == "blockquote" and "expandable" in given:
        kind = "expandable_blockquote"
    outer = [it.name for it in stack]
    if name == "code" and outer == ["pre"]:
        extra["language"] = given.get("class", "").removeprefix("language-")
    elif "pre" in outer or "code" in outer:
        problems.append(f"{name} inside of code")
    elif "blockquote" in outer and name in {"blockquote", "pre", "code", "a"}:
        problems.append(f"{name} inside of a quote")
    stack.append(OpenTag(name, kind, units, extra))


def _close(
    name: str, stack: list[OpenTag], entities: list[dict[str, Any]], units: int, offset: int
) -> None:
    if not stack:
        raise BadHtmlError(f"Unexpected end tag at byte offset {offset}")
    opened = stack.pop()
    if name and name != opened.name:
        raise BadHtmlError(
            f"Unmatched end tag at byte offset {offset}, expected"
            f' "</{opened.name}>", found "</{name}>"'
        )
    if units == opened.begin:
        return
    if opened.name == "code" and stack and stack[-1].name == "pre":
        stack[-1].extra |= {key: value for key, value in opened.extra.items() if value}
        return
    entities.append(
        {
            "type": opened.kind,
            "offset": opened.begin,
            "length": units - opened.begin,
            **opened.extra,
        }
    )


def _decode(text: str) -> str:
    def replace(found: re.Match[str]) -> str:
        if found[3]:
            return NAMED[found[3]]
        return chr(int(found[1]) if found[1] else int(found[2], 16))

    return REFERENCE.sub(replace, text)
