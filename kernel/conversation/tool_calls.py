"""The search tool, and what a model wants when it calls it, however it writes the arguments."""

import re
from collections.abc import Iterable

from kernel.conversation.reply_reader import MOST_QUERIES, Wish, cleaned
from kernel.domain.chat import ToolCall, ToolSpec
from kernel.domain.safe_json import parse_json

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
                "maxItems": MOST_QUERIES,
            },
        },
        "required": ["queries"],
    },
)

# Names under which models put queries, whatever the schema says.
_QUERY_KEYS = ("queries", "query", "keywords", "keyword", "q", "terms", "search")
_STRING = re.compile(r'"((?:[^"\\]|\\.){0,400})"(\s*:)?')


def wish_of_calls(calls: Iterable[ToolCall], said: str) -> Wish:
    """All queries of one reply; ``said`` is what the model wrote before it called."""
    queries: list[str] = []
    purposes: list[str] = []
    for call in calls:
        purpose, wanted = _arguments(call.arguments)
        queries += wanted
        purposes += [purpose] if purpose else []
    return Wish(cleaned(queries), next(iter(purposes), said))


def _arguments(text: str) -> tuple[str, list[str]]:
    try:
        value = parse_json(text)
    except ValueError:
        # Cut off or badly quoted: whatever is a string and no key is taken for a query.
        return "", [string for string, colon in _STRING.findall(text) if not colon]
    if not isinstance(value, dict):
        return "", _strings(value)
    purpose = value.get("purpose")
    queries = [query for key in _QUERY_KEYS for query in _strings(value.get(key))]
    return purpose if isinstance(purpose, str) else "", queries


def _strings(value: object) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, list):
        return [each for each in value if isinstance(each, str)]
    return []
