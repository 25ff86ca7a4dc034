"""The name of a class in the text of a type: Foo of Optional[Foo], const Foo&, Arc<Foo>, *p.Foo."""

import re
from functools import lru_cache

# What stands for what it holds: whoever has one calls the methods of the other.
_HOLDERS = re.compile(
    r"^(?:typing\.)?(?:Optional|Annotated|ClassVar|Final|Type|type|Awaitable)\s*\[(.*)\]$"
    r"|^(?:std::)?(?:unique_ptr|shared_ptr|weak_ptr|Box|Arc|Rc|RefMut|Ref|Pin|Readonly|Partial)"
    r"\s*<(.*)>$",
    re.DOTALL,
)
_NOTHING = frozenset({"None", "null", "undefined", "nil", "void", "never", ""})
_WORDS_BEFORE = re.compile(
    r"^(?:const|mut|dyn|impl|struct|class|readonly|final|volatile|unsigned|static|typename|ref|in"
    r"|out|val|var|lateinit|some|any|-&gt;)\s+|^->\s*|^:\s*|^[&*\s(?\[\]]+|^'\w+\s+"
)
_GENERIC = re.compile(r"[<\[({].*", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|\\)[A-Za-z_$][\w$]*)*")
_SEPARATORS = re.compile(r"::|->|\\|\?\.")
_KEYWORDS_OF_BASES = re.compile(
    r"\b(?:extends|implements|public|private|protected|virtual|with|by|abstract)\b"
)
_DEEPEST = 4
# The same few types are written again and again.
_REMEMBERED = 4_096


@lru_cache(_REMEMBERED)
def type_name(text: str, depth: int = 0) -> str:
    """The class that methods are looked for in, dotted; "" if the text names none."""
    text = text.strip().strip("\"'")
    if not text.startswith(("[", "(")) or depth:
        text = _without_words(text)
    text = text.strip("?!;& *").strip("\"'")
    alternatives = [part.strip() for part in _outside(text, "|")]
    known = [part for part in alternatives if part not in _NOTHING]
    if len(known) != 1:
        return ""
    if depth < _DEEPEST and (held := _HOLDERS.match(known[0])):
        inner = _outside(held[1] or held[2] or "", ",")[0]
        return type_name(inner, depth + 1)
    if known[0].endswith("[]"):
        return ""
    name = _NAME.match(_GENERIC.sub("", _without_words(known[0])).strip())
    return dotted(name[0]) if name else ""


def base_names(text: str) -> tuple[str, ...]:
    """The classes in a list of bases, however it is written."""
    text = _KEYWORDS_OF_BASES.sub(",", text.strip().removeprefix("(").removesuffix(")"))
    parts = (part.strip(" :\n\t<&(") for mark in (",",) for part in _outside(text, mark))
    names = (type_name(piece) for part in parts if "=" not in part for piece in _outside(part, "+"))
    return tuple(dict.fromkeys(name for name in names if name))


def dotted(text: str) -> str:
    """A path of names with dots between them, however the language joins them."""
    return _SEPARATORS.sub(".", text)


def _without_words(text: str) -> str:
    while (shorter := _WORDS_BEFORE.sub("", text, count=1).strip()) != text:
        text = shorter
    return text


def _outside(text: str, mark: str) -> list[str]:
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
