"""Edit JSON as people write it: with comments, trailing commas, tabs and a byte order mark."""

import json
import re
from dataclasses import dataclass
from typing import Any, NoReturn

from codekernel.adapters.agent_config.text_edits import (
    BYTE_ORDER_MARK,
    DEFAULT_INDENT,
    BrokenConfig,
    ConfigFormat,
    RefusedEdit,
    detect_line_end,
    find_line_start,
    is_blank,
)

_BLANKS = re.compile(r"(?:[ \t\r\n]+|//[^\r\n]*|/\*.*?\*/)*", re.DOTALL)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"-?\d[\d.eE+-]*|true|false|null")
# A comment that ends the line of a member belongs to that member.
_COMMENT_AT_LINE_END = re.compile(r"[ \t]*(?://[^\r\n]*|/\*[^\r\n]*?\*/)(?=[ \t]*\r?\n)")
_INDENT = re.compile(r"[ \t]*")


@dataclass(frozen=True, slots=True)
class JsonMember:
    """A key and its value; ``comma`` is the offset after the comma behind it, or 0."""

    key: str
    begin: int
    node: "JsonNode"
    comma: int


@dataclass(frozen=True, slots=True)
class JsonNode:
    """A value and where it lies in the text."""

    value: Any
    begin: int
    end: int
    members: tuple[JsonMember, ...] = ()

    def find_member(self, key: str) -> JsonMember | None:
        """Return the member with a key. Raises RefusedEdit if there are two."""
        found = [member for member in self.members if member.key == key]
        if len(found) > 1:
            raise RefusedEdit(f"it has the key {key!r} twice")
        return found[0] if found else None


class _JsonParser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = len(BYTE_ORDER_MARK) if text.startswith(BYTE_ORDER_MARK) else 0

    def parse(self) -> JsonNode:
        node = self._parse_value()
        if self._peek():
            self._fail("one value was expected, and more follows")
        return node

    def _peek(self) -> str:
        self._at = _BLANKS.match(self._text, self._at).end()  # type: ignore[union-attr] # never None
        return self._text[self._at : self._at + 1]

    def _fail(self, reason: str) -> NoReturn:
        line = self._text.count("\n", 0, self._at) + 1
        raise BrokenConfig(f"line {line}: {reason}")

    def _parse_value(self) -> JsonNode:
        match self._peek():
            case "{":
                return self._parse_object()
            case "[":
                return self._parse_array()
            case '"':
                return self._parse_token(_STRING, "a string is not closed, or has a line end in it")
            case _:
                return self._parse_token(_SCALAR, "a value was expected")

    def _parse_token(self, pattern: re.Pattern[str], reason: str) -> JsonNode:
        found = pattern.match(self._text, self._at)
        if found is None:
            self._fail(reason)
        try:
            value = json.loads(found[0])
        except ValueError:
            self._fail(reason)
        self._at = found.end()
        return JsonNode(value, found.start(), found.end())

    def _parse_array(self) -> JsonNode:
        begin, items = self._at, []
        self._at += 1
        while self._peek() != "]":
            items.append(self._parse_value().value)
            self._take_comma("]")
        self._at += 1
        return JsonNode(items, begin, self._at)

    def _parse_object(self) -> JsonNode:
        begin, members = self._at, []
        self._at += 1
        while self._peek() != "}":
            key = self._parse_token(_STRING, "a key in double quotes was expected")
            if self._peek() != ":":
                self._fail("a colon was expected")
            self._at += 1
            node = self._parse_value()
            members.append(JsonMember(key.value, key.begin, node, self._take_comma("}")))
        self._at += 1
        value = {member.key: member.node.value for member in members}
        return JsonNode(value, begin, self._at, tuple(members))

    def _take_comma(self, closing: str) -> int:
        found = self._peek()
        if found == ",":
            self._at += 1
            return self._at
        if found != closing:
            self._fail(f"a comma or {closing} was expected")
        return 0


def parse_json(text: str) -> JsonNode:
    """Parse JSON with comments and trailing commas. Raises BrokenConfig."""
    try:
        node = _JsonParser(text).parse()
    except RecursionError:
        raise BrokenConfig("it is nested too deeply") from None
    if not isinstance(node.value, dict):
        raise BrokenConfig("it is not an object")
    return node


def load_jsonc(text: str) -> dict[str, Any]:
    """Return the document. Raises BrokenConfig."""
    return {} if is_blank(text) else dict(parse_json(text).value)


def load_json(text: str) -> dict[str, Any]:
    """Return the document of a client that allows no comments. Raises BrokenConfig."""
    document = load_jsonc(text)
    if document:
        try:
            json.loads(text.removeprefix(BYTE_ORDER_MARK))
        except ValueError as error:
            raise BrokenConfig(f"{error} (comments and trailing commas are no JSON)") from error
    return document


def add_json_entry(text: str, keys: tuple[str, ...], value: Any) -> str:
    """Return the text with an entry behind all others. Raises BrokenConfig or RefusedEdit."""
    line_end = detect_line_end(text)
    if is_blank(text):
        document = _nest(keys, value)
        mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
        return mark + _render(document, DEFAULT_INDENT, "", line_end) + line_end
    node = root = parse_json(text)
    indent = _detect_member_indent(text, root)
    for depth, key in enumerate(keys):
        member = node.find_member(key)
        if member is None:
            compact = bool(root.members) and "\n" not in text[root.begin : root.end]
            inner = _nest(keys[depth + 1 :], value)
            if node.members:
                return _append_member(text, node, key, inner, None if compact else indent)
            return _fill_object(text, node, key, inner, None if compact else indent)
        if not isinstance(member.node.value, dict):
            raise RefusedEdit(f"its {key!r} is no object")
        node = member.node
    raise RefusedEdit(f"it has {'.'.join(keys)} already")


def remove_json_entry(text: str, keys: tuple[str, ...]) -> str:
    """Return the text without an entry. Raises BrokenConfig or RefusedEdit."""
    node = parse_json(text)
    for key in keys[:-1]:
        container = node.find_member(key)
        if container is None:
            return text
        node = container.node
    member = node.find_member(keys[-1])
    if member is None:
        return text
    begin = member.begin
    while text[begin - 1] in " \t\r\n":
        begin -= 1
    if member.comma:
        return text[:begin] + text[member.comma :]
    text = text[:begin] + text[member.node.end :]
    before = node.members[-2].comma if len(node.members) > 1 else 0
    return text[: before - 1] + text[before:] if before else text


def _nest(keys: tuple[str, ...], value: Any) -> Any:
    for key in reversed(keys):
        value = {key: value}
    return value


def _detect_member_indent(text: str, root: JsonNode) -> str:
    if not root.members:
        return DEFAULT_INDENT
    return _read_indent(text, root.members[0].begin) or DEFAULT_INDENT


def _read_indent(text: str, offset: int) -> str:
    found = _INDENT.match(text, find_line_start(text, offset))
    return found[0] if found else ""


def _render(value: Any, indent: str | None, prefix: str, line_end: str) -> str:
    written = json.dumps(value, indent=indent, ensure_ascii=False)
    return written.replace("\n", line_end + prefix)


def _append_member(text: str, node: JsonNode, key: str, value: Any, indent: str | None) -> str:
    last, line_end = node.members[-1], detect_line_end(text)
    is_one_line = indent is None or "\n" not in text[node.begin : node.end]
    anchor = last.comma or last.node.end
    if is_one_line:
        piece = f" {_render_member(key, value, None, '', '')}"
        return text[:anchor] + (f"{piece}," if last.comma else f",{piece}") + text[anchor:]
    prefix = _read_indent(text, last.begin)
    piece = line_end + prefix + _render_member(key, value, indent, prefix, line_end)
    comment = _COMMENT_AT_LINE_END.match(text, anchor)
    behind = comment.end() if comment else anchor
    if last.comma:
        return text[:behind] + piece + "," + text[behind:]
    return text[:anchor] + "," + text[anchor:behind] + piece + text[behind:]


def _fill_object(text: str, node: JsonNode, key: str, value: Any, indent: str | None) -> str:
    """Add the first member of an object; comments in it stay."""
    inside = text[node.begin + 1 : node.end - 1].rstrip()
    if indent is None and not inside:
        inside = _render_member(key, value, None, "", "")
    else:
        line_end, outer = detect_line_end(text), _read_indent(text, node.begin)
        prefix = outer + (indent or DEFAULT_INDENT)
        member = _render_member(key, value, indent or DEFAULT_INDENT, prefix, line_end)
        inside += line_end + prefix + member + line_end + outer
    return text[: node.begin + 1] + inside + text[node.end - 1 :]


def _render_member(key: str, value: Any, indent: str | None, prefix: str, line_end: str) -> str:
    return f"{json.dumps(key)}: {_render(value, indent, prefix, line_end)}"


JSON_FORMAT = ConfigFormat(load_json, add_json_entry, remove_json_entry)

JSONC_FORMAT = ConfigFormat(load_jsonc, add_json_entry, remove_json_entry)
