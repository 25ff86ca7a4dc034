"""What the text of an expression says about the object it stands for, and about what is called."""

import re
from typing import NamedTuple

from kernel.callgraph.type_names import dotted
from kernel.domain.call_facts import Through

_NAME = r"[A-Za-z_$@][\w$]*"
_PATH = rf"{_NAME}(?:\s*(?:\?\.|\.|::|->|\\)\s*{_NAME})*"
_AWAIT = re.compile(r"^(?:await|yield|return|typeof)\s+")
_BEFORE = re.compile(r"^(?:await\s+|return\s+|&mut\s+|[&*!(]\s*)+")
_AFTER = re.compile(r"(?:\.await|\.unwrap\(\)|\.clone\(\)|[?!;\s])+$")
_NEW = re.compile(rf"^new\s+({_PATH})")
_RUBY_NEW = re.compile(r"^([A-Z]\w*(?:::[A-Z]\w*)*)\.new\b")
_LITERAL = re.compile(r"""^(?:[rbfuRBFU]{0,2}["'`\d\[{]|/|true\b|false\b|True\b|False\b)""")
_STRUCT = re.compile(rf"^({_PATH})\s*(?:<[^()]*>)?\s*\{{")
_CAST = re.compile(rf"\bas\s+({_PATH})$")
_CALL = re.compile(rf"^({_PATH})\s*(?:::)?(?:<[^()]*>|\[[^()\]]*\])?\s*\(")
_ONLY_PATH = re.compile(rf"^\$?{_PATH}$")
_CALLEE = re.compile(
    rf"(?:^|(?P<dot>\?\.|\.|::|->|\\)\s*)(?P<name>{_NAME}[?!]?)\s*(?:(?:::)?<[^()]*>)?$", re.DOTALL
)
_SPACE = re.compile(r"\s+")


class Held(NamedTuple):
    """How something came to be, and the class or function that says what it is."""

    through: Through
    text: str


class Callee(NamedTuple):
    """What is called: its name, and what stands before it."""

    receiver: str
    name: str


def callee_of(text: str) -> Callee | None:
    """Split what is called at its last name; none if no name is called."""
    text = _AWAIT.sub("", text)  # await f<T>() is parsed as a call of "await f"
    found = _CALLEE.search(text)
    if found is None:
        return None
    receiver = text[: found.start()].strip() if found["dot"] else ""
    if not found["dot"] and text[: found.start("name")].strip():
        return None
    return Callee(receiver, found["name"])


def held_by(text: str) -> Held | None:
    """What an expression stands for, as far as its text says: Foo(), new Foo, Foo{}, x as Foo."""
    text = bare(text)
    if found := _NEW.match(text) or _RUBY_NEW.match(text):
        return Held(Through.TYPE, _path(found[1]))
    if _LITERAL.match(text):
        return Held(Through.UNKNOWABLE, "")
    if (found := _CALL.match(text)) and _closes_at_end(text, found.end() - 1):
        return Held(Through.MADE, _path(found[1]))
    if (found := _STRUCT.match(text)) and found[1][:1].isupper():
        return Held(Through.TYPE, _path(found[1]))
    if found := _CAST.search(text):
        return Held(Through.TYPE, _path(found[1]))
    return None


def path_in(text: str) -> str:
    """The text as a dotted path of names, or "" if it is more than that."""
    text = bare(text)
    return _path(text).lstrip("$") if _ONLY_PATH.match(text) else ""


def bare(text: str) -> str:
    """An expression without what does not change what it stands for."""
    text = text.strip()
    begun = _BEFORE.match(text)
    if begun:
        text = text[begun.end() :]
        text = (
            text.removesuffix(")")
            if "(" in begun[0] and text.count(")") > text.count("(")
            else text
        )
    return _AFTER.sub("", text)


def _path(text: str) -> str:
    return dotted(_SPACE.sub("", text))


def _closes_at_end(text: str, opening: int) -> bool:
    """Whether the bracket that opens there is the last that closes."""
    depth = 0
    for place in range(opening, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if depth == 0:
            return place == len(text) - 1
    return False
