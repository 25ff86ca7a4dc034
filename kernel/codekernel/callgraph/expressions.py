"""Infer types from source text.

The class named by a type annotation, the callee of a call, and the class of the value an
expression yields.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from codekernel.domain.call_graph import ReceiverKind

# What stands for what it holds: whoever has one calls the methods of the other.
_WRAPPER_TYPES = re.compile(
    r"^(?:typing\.)?(?:Optional|Annotated|ClassVar|Final|Type|type|Awaitable)\s*\[(.*)\]$"
    r"|^(?:std::)?(?:unique_ptr|shared_ptr|weak_ptr|Box|Arc|Rc|RefMut|Ref|Pin|Readonly|Partial)"
    r"\s*<(.*)>$",
    re.DOTALL,
)

_NULL_TYPES = frozenset({"None", "null", "undefined", "nil", "void", "never", ""})

_MODIFIERS = re.compile(
    r"^(?:const|mut|dyn|impl|struct|class|readonly|final|volatile|unsigned|static|typename|ref|in"
    r"|out|val|var|lateinit|some|any|-&gt;)\s+|^->\s*|^:\s*|^[&*\s(?\[\]]+|^'\w+\s+"
)

_GENERIC = re.compile(r"[<\[({].*", re.DOTALL)

_QUALIFIED_NAME = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|\\)[A-Za-z_$][\w$]*)*")

_SEPARATORS = re.compile(r"::|->|\\|\?\.")

_BASE_CLAUSE_KEYWORDS = re.compile(
    r"\b(?:extends|implements|public|private|protected|virtual|with|by|abstract)\b"
)

_MAX_DEPTH = 4

# The same few types are written again and again.
_CACHE_SIZE = 4_096


@lru_cache(_CACHE_SIZE)
def parse_type_name(text: str, depth: int = 0) -> str:
    """The class that methods are looked for in, dotted; "" if the text names none."""
    text = text.strip().strip("\"'")
    if not text.startswith(("[", "(")) or depth:
        text = _strip_modifiers(text)
    text = text.strip("?!;& *").strip("\"'")
    alternatives = [part.strip() for part in split_outside_brackets(text, "|")]
    known = [part for part in alternatives if part not in _NULL_TYPES]
    if len(known) != 1:
        return ""
    if depth < _MAX_DEPTH and (held := _WRAPPER_TYPES.match(known[0])):
        inner = split_outside_brackets(held[1] or held[2] or "", ",")[0]
        return parse_type_name(inner, depth + 1)
    if known[0].endswith("[]"):
        return ""
    name = _QUALIFIED_NAME.match(_GENERIC.sub("", _strip_modifiers(known[0])).strip())
    return to_dotted_path(name[0]) if name else ""


def parse_base_names(text: str) -> tuple[str, ...]:
    """The classes in a list of bases, however it is written."""
    text = _BASE_CLAUSE_KEYWORDS.sub(",", text.strip().removeprefix("(").removesuffix(")"))
    parts = (part.strip(" :\n\t<&(") for part in split_outside_brackets(text, ","))
    names = (
        parse_type_name(piece)
        for part in parts
        if "=" not in part
        for piece in split_outside_brackets(part, "+")
    )
    return tuple(dict.fromkeys(name for name in names if name))


def to_dotted_path(text: str) -> str:
    """A path of names with dots between them, however the language joins them."""
    return _SEPARATORS.sub(".", text)


def _strip_modifiers(text: str) -> str:
    while (shorter := _MODIFIERS.sub("", text, count=1).strip()) != text:
        text = shorter
    return text


def split_outside_brackets(text: str, mark: str) -> list[str]:
    """Split at a mark that is in no brackets."""
    if mark not in text:
        return [text]
    parts, depth = [""], 0
    for character in text:
        depth += 1 if character in "[(<{" else -1 if character in "])>}" else 0
        if character == mark and depth <= 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


_NAME = r"[A-Za-z_$@][\w$]*"

_PATH = rf"{_NAME}(?:\s*(?:\?\.|\.|::|->|\\)\s*{_NAME})*"

_AWAIT = re.compile(r"^(?:await|yield|return|typeof)\s+")

_PREFIXES = re.compile(r"^(?:await\s+|return\s+|&mut\s+|[&*!(]\s*)+")

_SUFFIXES = re.compile(r"(?:\.await|\.unwrap\(\)|\.clone\(\)|[?!;\s])+$")

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


class InferredValue(NamedTuple):
    """How something came to be, and the class or function that says what it is."""

    receiver_kind: ReceiverKind
    text: str


class Callee(NamedTuple):
    """What is called: its name, and what stands before it."""

    receiver: str
    name: str


def parse_callee(text: str) -> Callee | None:
    """Split what is called at its last name; none if no name is called."""
    text = _AWAIT.sub("", text)  # await f<T>() is parsed as a call of "await f"
    found = _CALLEE.search(text)
    if found is None:
        return None
    receiver = text[: found.start()].strip() if found["dot"] else ""
    if not found["dot"] and text[: found.start("name")].strip():
        return None
    return Callee(receiver, found["name"])


def infer_value(text: str) -> InferredValue | None:
    """What an expression stands for, as far as its text says: Foo(), new Foo, Foo{}, x as Foo."""
    text = strip_expression(text)
    if found := _NEW.match(text) or _RUBY_NEW.match(text):
        return InferredValue(ReceiverKind.TYPE, _to_path(found[1]))
    if _LITERAL.match(text):
        return InferredValue(ReceiverKind.UNKNOWN, "")
    if (found := _CALL.match(text)) and _closes_at_end(text, found.end() - 1):
        return InferredValue(ReceiverKind.CALL_RESULT, _to_path(found[1]))
    if (found := _STRUCT.match(text)) and found[1][:1].isupper():
        return InferredValue(ReceiverKind.TYPE, _to_path(found[1]))
    if found := _CAST.search(text):
        return InferredValue(ReceiverKind.TYPE, _to_path(found[1]))
    return None


def parse_path(text: str) -> str:
    """The text as a dotted path of names, or "" if it is more than that."""
    text = strip_expression(text)
    return _to_path(text).lstrip("$") if _ONLY_PATH.match(text) else ""


def strip_expression(text: str) -> str:
    """An expression without what does not change what it stands for."""
    text = text.strip()
    if begun := _PREFIXES.match(text):
        text = text[begun.end() :]
        if "(" in begun[0] and text.count(")") > text.count("("):
            text = text.removesuffix(")")
    return _SUFFIXES.sub("", text)


def _to_path(text: str) -> str:
    return to_dotted_path(_SPACE.sub("", text))


def _closes_at_end(text: str, opening: int) -> bool:
    """Whether the bracket that opens there is the last that closes."""
    depth = 0
    for place in range(opening, len(text)):
        depth += {"(": 1, ")": -1}.get(text[place], 0)
        if depth == 0:
            return place == len(text) - 1
    return False
