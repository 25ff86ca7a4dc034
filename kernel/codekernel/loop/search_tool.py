"""The search tool of a conversation.

Its JSON schema, and the parsers of the searches a model asks for, by a tool call or by a
```search fence in its text, while the reply streams.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from codekernel.domain.chat import ChatToolCall, ToolSpec
from codekernel.domain.untrusted_text import parse_json
from codekernel.loop.text_tool_parser import TextBlockKind, TextBlockPiece

_FENCE = "```"

_FENCE_LANGUAGE = "search"

_SEARCH_WORD = re.compile(rf"{_FENCE_LANGUAGE}[\W_]")

# Characters; a longer opening is an answer.
_MAX_PREAMBLE_CHARS = 300

_PREAMBLES = (
    "let me ",
    "let's ",
    "i'll ",
    "i will ",
    "i need to ",
    "i should ",
    "i'm going to ",
    "first, ",
    "to answer ",
    "searching ",
    "looking ",
    "让我",
    "我来",
    "我需要",
    "我先",
    "首先",
)

_NEXT_PARAGRAPH = re.compile(r"\n\s*\n\s*\S")

_LIST_MARK = re.compile(r"^\s*(?:[-*+]\s+|\d{1,2}[.)]\s+)")

MAX_QUERIES = 5

MAX_QUERY_CHARS = 400


@dataclass(frozen=True, slots=True)
class SearchCall:
    """The searches that the model asks for, and their purpose."""

    queries: tuple[str, ...]
    purpose: str = ""


class SearchReplyParser:
    """Parser of a conversation's replies, in which a ```search fence asks for searches.

    A preamble ("Let me look ...") is held back while a search may follow, whose purpose it is then.
    ``may_search`` is false when the answer has to come now.
    """

    def __init__(self, *, may_search: bool) -> None:
        self._buffer = ""  # may be the beginning of a fence
        self._preamble: str | None = "" if may_search else None
        self._line = ""  # the current line before the buffer
        self._is_in_code = False
        self._search_body: str | None = None
        self.is_over = False

    def feed(self, text: str) -> list[TextBlockPiece]:
        """Return what of the reply can be shown now."""
        if self.is_over:
            return []
        return _make_pieces(self._hold_preamble(self._split_fence(self._buffer + text)))

    def end(self, *, has_calls: bool) -> list[TextBlockPiece]:
        """Return what was held back, unless it introduces a search."""
        if self._search_body is not None or has_calls:
            return []
        rest = (self._preamble or "") + self._buffer
        self._preamble, self._buffer = None, ""
        return _make_pieces(rest)

    def build_search_call(self, native_calls: Sequence[ChatToolCall]) -> SearchCall | None:
        """Return the searches that the whole reply asks for, natively or by a fence."""
        purpose = " ".join((self._preamble or "").split())
        if self._search_body is not None:
            fenced = parse_search_fence(self._search_body)
            if not fenced.queries:
                return None
            purpose = fenced.purpose or purpose
            if not native_calls:
                return SearchCall(fenced.queries, purpose)
        return parse_search_calls(native_calls, purpose) if native_calls else None

    def _hold_preamble(self, text: str) -> str:
        if self._preamble is None or not text:
            return text
        self._preamble += text
        if _is_preamble(self._preamble):
            return ""
        shown, self._preamble = self._preamble, None
        return shown

    def _split_fence(self, text: str) -> str:
        """Return the text up to a search fence; buffer what may become one."""
        shown, self._buffer = "", ""
        while text and self._search_body is None:
            before, fence, after = text.partition(_FENCE)
            if not fence:
                before = text.rstrip("`")
            ticks = fence or text[len(before) :]  # perhaps the first of a fence
            shown += self._track_line(before)
            # A search fence opens at the beginning of a line, or after a colon.
            is_line_start = not self._line.strip()
            can_open = not self._is_in_code and (is_line_start or self._line[-1] in " \t:")
            is_partial = can_open and _FENCE_LANGUAGE.startswith(after)
            if is_partial if fence else ticks and (can_open or is_line_start):
                self._buffer = ticks + after
                return shown
            if fence and can_open and _SEARCH_WORD.match(after):
                self._search_body, text = "", after.removeprefix(_FENCE_LANGUAGE)
                break
            self._is_in_code ^= bool(fence) and is_line_start
            shown += self._track_line(ticks)
            text = after
        if self._search_body is not None:
            self._search_body, fence, _ = (self._search_body + text).partition(_FENCE)
            self.is_over = bool(fence)
        return shown

    def _track_line(self, text: str) -> str:
        """Remember the beginning of the current line."""
        self._line = (self._line + text).rpartition("\n")[2]
        return text


def _make_pieces(text: str) -> list[TextBlockPiece]:
    return [TextBlockPiece(1, TextBlockKind.TEXT, text)] if text else []


def _is_preamble(preamble: str) -> bool:
    text = preamble.lstrip().lower()
    if len(text) > _MAX_PREAMBLE_CHARS or _NEXT_PARAGRAPH.search(text):
        return False
    return any(known.startswith(text[: len(known)]) for known in _PREAMBLES)


def parse_search_fence(body: str) -> SearchCall:
    """Parse a search fence: one query per line, the purpose after a ``#``."""
    purpose, queries = "", []
    for line in body.splitlines():
        stripped = line.strip()
        if stripped.startswith("#") and not purpose:
            purpose = stripped.lstrip("# ")
        else:
            queries.append(_LIST_MARK.sub("", line))
    return SearchCall(clean_queries(queries), purpose)


def clean_queries(queries: list[str]) -> tuple[str, ...]:
    """Return distinct queries, limited in number and length."""
    stripped = (" ".join(query.split())[:MAX_QUERY_CHARS] for query in queries)
    return tuple(dict.fromkeys(query for query in stripped if query))[:MAX_QUERIES]


SEARCH_TOOL = ToolSpec(
    name="search",
    description=(
        "Search the repository's code and documents. Several queries are run at once. A query is a"
        " name, an exact message, or a short phrase in plain words; filters may be added:"
        " lang:python path:src/auth file:config symbol:Session."
    ),
    parameters={
        "type": "object",
        "properties": {
            "purpose": {
                "type": "string",
                "description": "What you want to find out, in one short sentence for the user.",
            },
            "queries": {
                "type": "array",
                "items": {"type": "string"},
                "minItems": 1,
                "maxItems": MAX_QUERIES,
            },
        },
        "required": ["queries"],
    },
)

# Names under which models put queries, despite the schema.
_QUERY_KEYS = ("queries", "query", "keywords", "keyword", "q", "terms", "search")

_JSON_STRING = re.compile(r'"((?:[^"\\]|\\.){0,400})"(\s*:)?')


def parse_search_calls(calls: Sequence[ChatToolCall], preamble: str) -> SearchCall:
    """Return all queries of one reply; the preamble is the purpose if the calls give none."""
    parsed = [_parse_arguments(call.arguments) for call in calls]
    queries = [query for _, wanted in parsed for query in wanted]
    return SearchCall(
        clean_queries(queries), next((purpose for purpose, _ in parsed if purpose), preamble)
    )


def _parse_arguments(text: str) -> tuple[str, list[str]]:
    try:
        value = parse_json(text)
    except ValueError:
        # Cut off or badly quoted: whatever is a string and no key is taken for a query.
        return "", [string for string, colon in _JSON_STRING.findall(text) if not colon]
    if not isinstance(value, dict):
        return "", _list_strings(value)
    purpose = value.get("purpose")
    queries = [query for key in _QUERY_KEYS for query in _list_strings(value.get(key))]
    return purpose if isinstance(purpose, str) else "", queries


def _list_strings(value: object) -> list[str]:
    each_value = value if isinstance(value, list) else [value]
    return [each for each in each_value if isinstance(each, str)]
