"""Character classes of ignore patterns as sets of bytes: ``[a-z]``, ``[!0-9]``, ``[[:alpha:]]``."""

import string
from collections.abc import Set  # noqa: PYI025  # sets and frozen sets

_ANY_BYTE = frozenset(map(chr, range(256)))
_PRINTABLE = frozenset(map(chr, range(0x20, 0x7F)))
_NAMED = {
    "alnum": frozenset(string.ascii_letters + string.digits),
    "alpha": frozenset(string.ascii_letters),
    "blank": frozenset(" \t"),
    "cntrl": frozenset(map(chr, [*range(0x20), 0x7F])),
    "digit": frozenset(string.digits),
    "graph": _PRINTABLE - {" "},
    "lower": frozenset(string.ascii_lowercase),
    "print": _PRINTABLE,
    "punct": frozenset(string.punctuation),
    "space": frozenset(string.whitespace),
    "upper": frozenset(string.ascii_uppercase),
    "xdigit": frozenset(string.hexdigits),
}


class Malformed(ValueError):
    """A pattern that git accepts and that never matches."""


def character_class(glob: str, position: int, *, fold_case: bool) -> tuple[str, int]:
    """The class whose inside begins at ``position``, as an expression, and where it has ended."""
    negated = glob[position : position + 1] in {"!", "^"}
    position += negated
    members: set[str] = set()
    spanned: set[str] = set()  # by ranges and [:upper:], which fold the case; single letters do not
    previous = ""
    first = True
    while first or glob[position : position + 1] != "]":
        first = False
        named = _named_class(glob, position)
        if named:
            inside, position = named
            members |= inside
            spanned |= inside if inside == _NAMED["upper"] else set()
            previous = ""
        elif previous and _is_range(glob, position):
            last, position = _character(glob, position + 1)
            spanned |= set(map(chr, range(ord(previous), ord(last) + 1)))
            previous = ""
        else:
            previous, position = _character(glob, position)
            members.add(previous)
    matching = members | spanned
    if fold_case:
        matching = {byte for byte in _ANY_BYTE if _folded(byte, matching, spanned)}
    # No class matches a slash, not even one that names it.
    accepted = (_ANY_BYTE - matching if negated else matching) - {"/"}
    if not accepted:
        raise Malformed
    inside_brackets = "".join(f"\\x{ord(byte):02x}" for byte in sorted(accepted))
    return f"(?-i:[{inside_brackets}])" if fold_case else f"[{inside_brackets}]", position + 1


def _folded(byte: str, members: Set[str], spanned: Set[str]) -> bool:
    """Git makes a letter of a path small before it looks, and large again only for ranges."""
    if byte not in _NAMED["alpha"]:
        return byte in members
    return byte.lower() in members or byte.upper() in spanned


def _character(glob: str, position: int) -> tuple[str, int]:
    position += glob[position : position + 1] == "\\"
    if position >= len(glob):
        raise Malformed
    return glob[position], position + 1


def _is_range(glob: str, position: int) -> bool:
    following = glob[position + 1 : position + 2]
    return glob[position : position + 1] == "-" and following not in {"", "]"}


def _named_class(glob: str, position: int) -> tuple[frozenset[str], int] | None:
    if not glob.startswith("[:", position):
        return None
    begin = position + 2
    end = glob.find("]", begin)
    if end < 0:
        raise Malformed
    if end == begin or glob[end - 1] != ":":
        return None  # the brackets of something else
    members = _NAMED.get(glob[begin : end - 1])
    if members is None:
        raise Malformed
    return members, end + 1
