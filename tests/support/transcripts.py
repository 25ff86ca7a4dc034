"""The transcripts of PROTOCOL.md, read as data."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DOCUMENT = Path(__file__).parents[2] / "PROTOCOL.md"
_BLOCK = re.compile(
    r"^```transcript (\w+)(?: in session (\d+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL
)

ANY_ID = -424242
ANY_SENTENCE = "..."
ANY_FLAG = "$bool"
ANY_TEXT = "$text"
ANY_LIST = "$list"
_PLACEHOLDERS: dict[int | str, Callable[[object], bool]] = {
    ANY_ID: lambda actual: isinstance(actual, int) and actual != -1,
    ANY_SENTENCE: lambda actual: isinstance(actual, str) and len(actual) > len(ANY_SENTENCE),
    ANY_TEXT: lambda actual: isinstance(actual, str),
    ANY_LIST: lambda actual: isinstance(actual, list),
    ANY_FLAG: lambda actual: isinstance(actual, bool),
}


@dataclass(frozen=True)
class Step:
    """``>`` the front end says, ``<`` the kernel says, ``!`` something happens outside."""

    who: str
    text: str


@dataclass(frozen=True)
class Transcript:
    name: str
    session: int | None
    steps: tuple[Step, ...]


def transcripts() -> list[Transcript]:
    found = _BLOCK.findall(DOCUMENT.read_text(encoding="utf-8"))
    return [
        Transcript(
            name,
            int(session) if session else None,
            tuple(Step(line[0], line[2:]) for line in body.splitlines()),
        )
        for name, session, body in found
    ]


def fill_placeholders(text: str, values: dict[str, str]) -> str:
    """The text with ``$NAME`` replaced by what stands for it, inside JSON strings."""
    for name, value in values.items():
        text = text.replace(f"${name}", json.dumps(value)[1:-1])
    return text.replace("$id", str(ANY_ID)).replace("$bool", json.dumps(ANY_FLAG))


def matches(expected: Any, actual: Any) -> bool:
    """Whether the kernel said what the transcript says, placeholders considered."""
    if isinstance(expected, int | str) and expected in _PLACEHOLDERS:
        return _PLACEHOLDERS[expected](actual)
    if isinstance(expected, dict) and isinstance(actual, dict):
        return expected.keys() == actual.keys() and all(
            matches(value, actual[key]) for key, value in expected.items()
        )
    if isinstance(expected, list) and isinstance(actual, list):
        return len(expected) == len(actual) and all(map(matches, expected, actual))
    return type(expected) is type(actual) and bool(expected == actual)
