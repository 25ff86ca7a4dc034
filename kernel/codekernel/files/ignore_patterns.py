"""Parse one line of an ignore file as git does and translate it to a regular expression.

Git matches bytes, so patterns and paths are byte text: a string with one character per byte.
"""

import os
import re
import string
from collections.abc import (
    Iterator,
    Set,  # noqa: PYI025  # sets and frozen sets
)
from dataclasses import dataclass
from itertools import groupby

_ANY_BYTE = frozenset(map(chr, range(256)))

_PRINTABLE = frozenset(map(chr, range(0x20, 0x7F)))

_NAMED_CLASSES = {
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


class MalformedPattern(ValueError):
    """A pattern that git accepts and that never matches."""


def parse_character_class(glob: str, position: int, *, fold_case: bool) -> tuple[str, int]:
    """The class whose inside begins at ``position``, as an expression, and where it has ended."""
    negated = glob[position : position + 1] in {"!", "^"}
    position += negated
    members: set[str] = set()
    spanned: set[str] = set()  # by ranges and [:upper:], which fold the case; single letters do not
    previous = ""
    first = True
    while first or glob[position : position + 1] != "]":
        first = False
        named = _parse_named_class(glob, position)
        if named:
            inside, position = named
            members |= inside
            spanned |= inside if inside == _NAMED_CLASSES["upper"] else set()
            previous = ""
        elif previous and _is_range(glob, position):
            last, position = _read_class_character(glob, position + 1)
            spanned |= set(map(chr, range(ord(previous), ord(last) + 1)))
            previous = ""
        else:
            previous, position = _read_class_character(glob, position)
            members.add(previous)
    matching = members | spanned
    if fold_case:
        matching = {byte for byte in _ANY_BYTE if _is_folded_member(byte, matching, spanned)}
    # No class matches a slash, not even one that names it.
    accepted = (_ANY_BYTE - matching if negated else matching) - {"/"}
    if not accepted:
        raise MalformedPattern
    inside_brackets = "".join(f"\\x{ord(byte):02x}" for byte in sorted(accepted))
    return f"(?-i:[{inside_brackets}])" if fold_case else f"[{inside_brackets}]", position + 1


def _is_folded_member(byte: str, members: Set[str], spanned: Set[str]) -> bool:
    """Git makes a letter of a path small before it looks, and large again only for ranges."""
    if byte not in _NAMED_CLASSES["alpha"]:
        return byte in members
    return byte.lower() in members or byte.upper() in spanned


def _read_class_character(glob: str, position: int) -> tuple[str, int]:
    position += glob[position : position + 1] == "\\"
    if position >= len(glob):
        raise MalformedPattern
    return glob[position], position + 1


def _is_range(glob: str, position: int) -> bool:
    following = glob[position + 1 : position + 2]
    return glob[position : position + 1] == "-" and following not in {"", "]"}


def _parse_named_class(glob: str, position: int) -> tuple[frozenset[str], int] | None:
    if not glob.startswith("[:", position):
        return None
    begin = position + 2
    end = glob.find("]", begin)
    if end < 0:
        raise MalformedPattern
    if end == begin or glob[end - 1] != ":":
        return None  # the brackets of something else
    members = _NAMED_CLASSES.get(glob[begin : end - 1])
    if members is None:
        raise MalformedPattern
    return members, end + 1


_GLOB_SPECIAL = re.compile(r"[*?\[\\]")

_STAR, _SLASH = "*", "/"

_NOT_SLASH = "[^/]"

# Two stars that stand alone between slashes: any folders, or anything at all.
_ANY_FOLDERS, _ANYTHING = "(?:[^/]*/)*?", ".*?"

_STRETCH_ENDS = {_STAR, _SLASH, _ANY_FOLDERS, _ANYTHING}


@dataclass(frozen=True, slots=True)
class IgnorePattern:
    """What a line asks for; ``expression`` must match the whole name or the whole path."""

    is_negated: bool
    is_folders_only: bool
    is_name_only: bool  # no slash in it: the last part of a path is compared, at any depth
    expression: str
    literal: str | None  # the name or path itself, if there is no wildcard
    longest_literal: str  # of the parts without wildcards, all of which a match must hold
    ending: str  # the part without wildcards at its end
    is_prefix: bool  # that literal and one star behind it
    is_suffix: bool  # one star and that literal behind it
    named_folders: str  # of a pattern with slashes, the folders before the first wildcard


def to_byte_text(path: str) -> str:
    """``path`` with one character per byte."""
    return path if path.isascii() else os.fsencode(path).decode("latin-1")


def parse_pattern(line: str, *, fold_case: bool = False) -> IgnorePattern | None:
    """The pattern in a line of byte text; None for a comment and for what can match nothing."""
    line = _strip_trailing_blanks(line.partition("\0")[0])
    if line.startswith("#"):
        return None
    negated = line.startswith("!")
    glob = line[negated:]
    folders_only = glob.endswith("/")
    glob = glob[: len(glob) - folders_only]
    by_name = "/" not in glob
    glob = glob.removeprefix("/")
    if not glob:
        return None
    special = _GLOB_SPECIAL.search(glob)
    literal = glob[: special.start()] if special else glob
    try:
        tokens = list(_tokenize_glob(glob[len(literal) :], fold_case=fold_case))
    except MalformedPattern:
        return None
    literals = list(_list_literals(tokens))
    longest = max([literal, *literals], key=len)
    return IgnorePattern(
        is_negated=negated,
        is_folders_only=folders_only,
        is_name_only=by_name,
        expression=re.escape(literal) + _join_tokens(tokens),
        literal=None if special else literal,
        longest_literal=longest,
        ending=literals[-1] if literals and _is_literal(tokens[-1]) else "",
        is_prefix=tokens == [_STAR],
        is_suffix=not literal and tokens[0] == _STAR and len(longest) == len(tokens) - 1 > 0,
        named_folders="" if by_name else literal[: literal.rfind("/") + 1],
    )


def _strip_trailing_blanks(line: str) -> str:
    """Strip trailing blanks, not tabs, as git does, up to an escaped one."""
    kept = position = 0
    while position < len(line):
        if line[position] == "\\":
            if position + 1 == len(line):
                return line
            position += 1
            kept = position + 1
        elif line[position] != " ":
            kept = position + 1
        position += 1
    return line[:kept]


def _tokenize_glob(glob: str, *, fold_case: bool) -> Iterator[str]:
    """Regular expressions of one character each, and the words for stars and slashes.

    ``glob`` begins at the first wildcard, and git takes ``**`` there for one that stands alone
    even after other characters (``ab**/c``): so do we.
    """
    position = 0
    while position < len(glob):
        character = glob[position]
        position += 1
        if character == "*":
            token, position = _parse_stars(glob, position - 1)
            yield token
        elif character == "[":
            token, position = parse_character_class(glob, position, fold_case=fold_case)
            yield token
        elif character == "?":
            yield _NOT_SLASH
        elif character == "\\":
            if position == len(glob):
                raise MalformedPattern
            yield _escape_character(glob[position])
            position += 1
        else:
            yield _escape_character(character)


def _escape_character(character: str) -> str:
    return _SLASH if character == "/" else re.escape(character)


def _parse_stars(glob: str, begin: int) -> tuple[str, int]:
    """The token for the stars at ``begin``, and where to go on."""
    after = begin
    while glob[after : after + 1] == "*":
        after += 1
    alone = begin == 0 or glob[begin - 1] == "/"
    if after - begin == 1 or not alone:
        return _STAR, after
    if glob[after : after + 1] == "/":
        return _ANY_FOLDERS, after + 1
    if after == len(glob) or glob[after : after + 2] == "\\/":
        return _ANYTHING, after
    return _STAR, after


def _list_literals(tokens: list[str]) -> Iterator[str]:
    """The stretches of tokens that stand for one certain character each."""
    for is_literal, stretch in groupby(tokens, key=_is_literal):
        if is_literal:
            yield "".join(token[-1] for token in stretch)


def _is_literal(token: str) -> bool:
    return token not in {_STAR, _ANY_FOLDERS, _ANYTHING} and not token.startswith(("[", "("))


def _join_tokens(tokens: list[str]) -> str:
    """Joins tokens; what stands between two double stars never looks back.

    It is a certain number of parts of a path, so the first place where it fits is as good as any
    later one, and matching stays linear however many double stars a hostile file has.
    """
    stretches: list[list[str]] = [[]]
    for token in tokens:
        if token in {_ANY_FOLDERS, _ANYTHING}:
            stretches.append([])
        stretches[-1].append(token)
    first, *others = map(_join_stretch, stretches)
    return first + "".join(f"(?>{each})" for each in others[:-1]) + "".join(others[-1:])


def _join_stretch(tokens: list[str]) -> str:
    """Joins tokens; a star that is followed by another star in the same part never looks back.

    The first place where the characters between two stars fit is as good as any later one.
    """
    parts: list[str] = []
    position = 0
    while position < len(tokens):
        if tokens[position] != _STAR:
            parts.append(tokens[position])
            position += 1
            continue
        end = position + 1
        while end < len(tokens) and tokens[end] not in _STRETCH_ENDS:
            end += 1
        between = "".join(tokens[position + 1 : end])
        another = end < len(tokens) and tokens[end] == _STAR
        parts.append(f"(?>{_NOT_SLASH}*?{between})" if another else f"{_NOT_SLASH}*{between}")
        position = end
    return "".join(parts)
