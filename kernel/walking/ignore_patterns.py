"""One line of an ignore file, as git understands it, as a regular expression.

Git matches bytes: ``?`` is one byte of a name. So patterns and paths are compared as "byte text",
a string with one character per byte; for ASCII names that is the name itself.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from kernel.walking.ignore_classes import Malformed, character_class

_GLOB_SPECIAL = re.compile(r"[*?\[\\]")
_STAR, _SLASH = "*", "/"
_NOT_SLASH = "[^/]"
# Two stars that stand alone between slashes: any folders, or anything at all.
_ANY_FOLDERS, _ANYTHING = "(?:[^/]*/)*?", ".*?"
_ENDS_A_STRETCH = {_STAR, _SLASH, _ANY_FOLDERS, _ANYTHING}


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a line asks for; ``expression`` must match the whole name or the whole path."""

    negated: bool
    folders_only: bool
    by_name: bool  # no slash in it: the last part of a path is compared, at any depth
    expression: str
    literal: str | None  # the name or path itself, if there is no wildcard
    longest_literal: str  # of the parts without wildcards, all of which a match must hold
    ending: str  # the part without wildcards at its end
    is_prefix: bool  # that literal and one star behind it
    is_suffix: bool  # one star and that literal behind it
    named_folders: str  # of a pattern with slashes, the folders before the first wildcard


def byte_text(path: str) -> str:
    """``path`` with one character per byte."""
    return path if path.isascii() else os.fsencode(path).decode("latin-1")


def parse(line: str, *, fold_case: bool = False) -> Pattern | None:
    """The pattern in a line of byte text; None for a comment and for what can match nothing."""
    line = _without_trailing_blanks(line.partition("\0")[0])
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
        tokens = list(_tokens(glob[len(literal) :], fold_case=fold_case))
    except Malformed:
        return None
    literals = list(_literals(tokens))
    longest = max([literal, *literals], key=len)
    return Pattern(
        negated=negated,
        folders_only=folders_only,
        by_name=by_name,
        expression=re.escape(literal) + _assembled(tokens),
        literal=None if special else literal,
        longest_literal=longest,
        ending=literals[-1] if literals and _is_literal(tokens[-1]) else "",
        is_prefix=tokens == [_STAR],
        is_suffix=not literal and tokens[0] == _STAR and len(longest) == len(tokens) - 1 > 0,
        named_folders="" if by_name else literal[: literal.rfind("/") + 1],
    )


def _without_trailing_blanks(line: str) -> str:
    """Git cuts blanks, not tabs, at the end, but for one that is escaped and what it follows."""
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


def _tokens(glob: str, *, fold_case: bool) -> Iterator[str]:
    """Regular expressions of one character each, and the words for stars and slashes.

    ``glob`` begins at the first wildcard, and git takes ``**`` there for one that stands alone
    even after other characters (``ab**/c``): so do we.
    """
    position = 0
    while position < len(glob):
        character = glob[position]
        position += 1
        if character == "*":
            token, position = _stars(glob, position - 1)
            yield token
        elif character == "[":
            token, position = character_class(glob, position, fold_case=fold_case)
            yield token
        elif character == "?":
            yield _NOT_SLASH
        elif character == "\\":
            if position == len(glob):
                raise Malformed
            yield _character(glob[position])
            position += 1
        else:
            yield _character(character)


def _character(character: str) -> str:
    return _SLASH if character == "/" else re.escape(character)


def _stars(glob: str, begin: int) -> tuple[str, int]:
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


def _literals(tokens: list[str]) -> Iterator[str]:
    """The stretches of tokens that stand for one certain character each."""
    for is_literal, stretch in groupby(tokens, key=_is_literal):
        if is_literal:
            yield "".join(token[-1] for token in stretch)


def _is_literal(token: str) -> bool:
    return token not in {_STAR, _ANY_FOLDERS, _ANYTHING} and not token.startswith(("[", "("))


def _assembled(tokens: list[str]) -> str:
    """Joins tokens; what stands between two double stars never looks back.

    It is a certain number of parts of a path, so the first place where it fits is as good as any
    later one, and matching stays linear however many double stars a hostile file has.
    """
    stretches: list[list[str]] = [[]]
    for token in tokens:
        if token in {_ANY_FOLDERS, _ANYTHING}:
            stretches.append([])
        stretches[-1].append(token)
    first, *others = map(_stretch, stretches)
    return first + "".join(f"(?>{each})" for each in others[:-1]) + "".join(others[-1:])


def _stretch(tokens: list[str]) -> str:
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
        while end < len(tokens) and tokens[end] not in _ENDS_A_STRETCH:
            end += 1
        between = "".join(tokens[position + 1 : end])
        another = end < len(tokens) and tokens[end] == _STAR
        parts.append(f"(?>{_NOT_SLASH}*?{between})" if another else f"{_NOT_SLASH}*{between}")
        position = end
    return "".join(parts)
