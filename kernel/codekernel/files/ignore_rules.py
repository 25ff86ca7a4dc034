"""The rules of an ignore file: its lines, as git reads them, and the last that matches a path.

A line becomes a regular expression. Git matches bytes, so patterns and paths are byte text: a
string with one character per byte. Literal names are looked up, globs through an index of their
literal parts: 20,000 patterns on 300 files took 143 s as one regular expression.
"""

import os
import re
import string
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise
from operator import itemgetter

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


# A named class, a character, or a range of characters.
_CLASS_ITEM = re.compile(r"\[:([^\]]*):\]|(\\?.)(?:-(?!\])(\\?.))?", re.DOTALL)


def parse_character_class(glob: str, begin: int, *, fold_case: bool) -> tuple[str, int]:
    """The class whose inside begins at ``begin``, as an expression, and where it has ended."""
    is_negated = glob[begin : begin + 1] in {"!", "^"}
    position = begin = begin + is_negated
    members: set[str] = set()
    spanned: set[str] = set()  # by ranges and [:upper:], which fold the case; single letters do not
    while position == begin or glob[position : position + 1] != "]":
        item = _CLASS_ITEM.match(glob, position)
        if item is None or (item[1] is not None and item[1] not in _NAMED_CLASSES):
            raise MalformedPattern
        if item[1] is not None:
            members |= _NAMED_CLASSES[item[1]]
            spanned |= _NAMED_CLASSES["upper"] if item[1] == "upper" else set()
        else:
            members.add(item[2][-1])
        if item[3]:
            spanned |= set(map(chr, range(ord(item[2][-1]), ord(item[3][-1]) + 1)))
        position = item.end()
    matching = members | spanned
    if fold_case:
        matching = {byte for byte in _ANY_BYTE if _is_folded_member(byte, matching, spanned)}
    # No class matches a slash, not even one that names it.
    accepted = (_ANY_BYTE - matching if is_negated else matching) - {"/"}
    if not accepted:
        raise MalformedPattern
    inside_brackets = "".join(f"\\x{ord(byte):02x}" for byte in sorted(accepted))
    return f"(?-i:[{inside_brackets}])" if fold_case else f"[{inside_brackets}]", position + 1


def _is_folded_member(byte: str, members: set[str], spanned: set[str]) -> bool:
    """Git makes a letter of a path small before it looks, and large again only for ranges."""
    if byte not in _NAMED_CLASSES["alpha"]:
        return byte in members
    return byte.lower() in members or byte.upper() in spanned


_GLOB_SPECIAL = re.compile(r"[*?\[\\]")

_STAR, _SLASH = "*", "/"

_NOT_SLASH, _ANY_NAME = "[^/]", "[^/]*"

# Two stars that stand alone between slashes: any folders, or anything at all.
_ANY_FOLDERS, _ANYTHING = "(?:[^/]*/)*?", ".*?"

_STRETCH_ENDS = {_STAR, _SLASH, _ANY_FOLDERS, _ANYTHING}


@dataclass(frozen=True)
class IgnorePattern:
    """What a line asks for; ``expression`` must match the whole name or the whole path."""

    is_negated: bool
    is_folders_only: bool
    is_name_only: bool  # no slash in it: the last part of a path is compared, at any depth
    expression: str
    # In lower case if the case does not matter, like the texts they are compared with:
    literal: str | None  # the name or path itself, if there is no wildcard
    longest_literal: str  # of the parts without wildcards, all of which a match must hold
    ending: str  # the part without wildcards at its end
    is_prefix: bool  # that literal and one star behind it
    is_suffix: bool  # one star and that literal behind it
    named_folders: str  # of a pattern with slashes, the folders before the first wildcard

    @cached_property
    def match_whole(self) -> Callable[[str], re.Match[str] | None]:
        """The compiled expression; only ASCII letters have another case in byte text, as in git."""
        return re.compile(self.expression, re.DOTALL | re.ASCII).fullmatch


def to_byte_text(path: str) -> str:
    """``path`` with one character per byte."""
    return path if path.isascii() else os.fsencode(path).decode("latin-1")


def lower_ascii(text: str) -> str:
    """Byte text with its ASCII letters small; others have no other case for git."""
    return text.encode("latin-1").lower().decode("latin-1")


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
    fold = lower_ascii if fold_case else str
    literals = list(_list_literals(tokens))
    longest = max([literal, *literals], key=len)
    return IgnorePattern(
        is_negated=negated,
        is_folders_only=folders_only,
        is_name_only=by_name,
        expression=("(?i)" if fold_case else "") + re.escape(literal) + _join_tokens(tokens),
        literal=None if special else fold(literal),
        longest_literal=fold(longest),
        ending=fold(literals[-1]) if literals and _is_literal(tokens[-1]) else "",
        is_prefix=tokens == [_STAR],
        is_suffix=not literal and tokens[0] == _STAR and len(longest) == len(tokens) - 1 > 0,
        named_folders="" if by_name else literal[: literal.rfind("/") + 1],
    )


def _strip_trailing_blanks(line: str) -> str:
    """Strip trailing blanks, not tabs, as git does, up to an escaped one."""
    stripped = line.rstrip(" ")
    backslashes = len(stripped) - len(stripped.rstrip("\\"))
    is_escaped = stripped != line and backslashes % 2 == 1
    return stripped + " " if is_escaped else stripped


def _tokenize_glob(glob: str, *, fold_case: bool) -> Iterator[str]:
    """Regular expressions of one character each, and the words for stars and slashes.

    ``glob`` begins at the first wildcard, and git takes ``**`` there for one that stands alone
    even after other characters (``ab**/c``): so do we.
    """
    position = 0
    while position < len(glob):
        match glob[position]:
            case "*":
                token, position = _parse_stars(glob, position)
            case "[":
                token, position = parse_character_class(glob, position + 1, fold_case=fold_case)
            case "?":
                token, position = _NOT_SLASH, position + 1
            case character:
                position += character == "\\"
                if position == len(glob):
                    raise MalformedPattern
                token, position = re.escape(glob[position]), position + 1
        yield token


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
    parts = [""]
    for token in tokens:
        if token in _STRETCH_ENDS:
            parts.append("")
        parts[-1] += _ANY_NAME if token == _STAR else token
    for number, (part, following) in enumerate(pairwise(parts)):
        if part.startswith(_ANY_NAME) and following.startswith(_ANY_NAME):
            parts[number] = f"(?>{_ANY_NAME}?{part.removeprefix(_ANY_NAME)})"
    return "".join(parts)


# Longer keys would be rarer in texts, and each length costs a slice at each place of a text.
MAX_GLOB_KEY_CHARS = 8

NO_RULE = -1


class PatternIndex:
    """Patterns by number; texts are byte text, in lower case if the case does not matter."""

    def __init__(self, patterns: Iterable[tuple[int, IgnorePattern]]) -> None:
        self._literals: dict[str, int] = {}
        self._prefixes: dict[str, int] = {}
        self._suffixes: dict[str, int] = {}
        self._by_key: dict[str, list[tuple[int, IgnorePattern]]] = {}
        self._last = {pattern.expression: (number, pattern) for number, pattern in patterns}
        for number, pattern in sorted(self._last.values(), key=itemgetter(0), reverse=True):
            self._add(number, pattern)
        self._key_lengths = _list_lengths(self._by_key)
        self._prefix_lengths = _list_lengths(self._prefixes)
        self._suffix_lengths = _list_lengths(self._suffixes)

    def __bool__(self) -> bool:
        return bool(self._last)

    def find_last_match(self, text: str) -> int:
        """The highest number of a pattern that matches the whole text; NO_RULE if none does."""
        best, size = self._literals.get(text, NO_RULE), len(text)
        for length in self._prefix_lengths:
            best = max(best, self._prefixes.get(text[:length], NO_RULE))
        for length in self._suffix_lengths:
            if length <= size:
                best = max(best, self._suffixes.get(text[size - length :], NO_RULE))
        for length in self._key_lengths:
            for key in {text[at : at + length] for at in range(size - length + 1)}:
                if patterns := self._by_key.get(key):
                    best = _find_first_match(patterns, text, best)
        return best

    def _add(self, number: int, pattern: IgnorePattern) -> None:
        literal = pattern.longest_literal
        if pattern.literal is not None:
            self._literals.setdefault(literal, number)
        elif pattern.is_name_only and pattern.is_prefix:
            self._prefixes.setdefault(literal, number)
        elif pattern.is_name_only and pattern.is_suffix:
            self._suffixes.setdefault(literal, number)
        else:
            self._by_key.setdefault(literal[:MAX_GLOB_KEY_CHARS], []).append((number, pattern))


def _find_first_match(patterns: Iterable[tuple[int, IgnorePattern]], text: str, best: int) -> int:
    """The first of ``patterns``, whose numbers descend, that matches and is after ``best``."""
    for number, pattern in patterns:
        if number <= best:
            break
        # The ending is compared sooner than the expression, and saves compiling it.
        if text.endswith(pattern.ending) and pattern.match_whole(text):
            return number
    return best


def _list_lengths(keys: Iterable[str]) -> tuple[int, ...]:
    return tuple(sorted(set(map(len, keys))))


_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


@dataclass(frozen=True, slots=True)
class IgnoreRule:
    """A line of an ignore file."""

    source: str
    line: int
    text: str
    pattern: IgnorePattern

    def __str__(self) -> str:
        return f"{self.source} line {self.line}: {self.text}"


class IgnoreRuleSet:
    """The rules of one file, for the paths below their folder.

    ``base`` is how many characters of a path name that folder, with its slash.
    """

    def __init__(self, rules: Sequence[IgnoreRule], *, base: int, fold_case: bool = False) -> None:
        self.base_length = base
        self._rules = rules
        self._fold_case = fold_case
        # Folders named in a negated rule: the way to what it re-includes.
        self._named_folders = sorted(
            rule.pattern.named_folders
            for rule in rules
            if rule.pattern.is_negated and rule.pattern.named_folders
        )

    def has_negated_rule_below(self, folder: str) -> bool:
        """Whether a negated rule spells out a folder that is ``folder`` or lies in it."""
        place = bisect_left(self._named_folders, folder)
        return any(each.startswith(folder) for each in self._named_folders[place : place + 1])

    def find_last_match(self, name: str, path: str, *, is_folder: bool) -> IgnoreRule | None:
        """The last rule that matches; ``name`` is the end of ``path``, both byte text."""
        names, paths = self._folder_indexes if is_folder else self._file_indexes
        if self._fold_case:
            name, path = lower_ascii(name), lower_ascii(path)
        number = names.find_last_match(name)
        if paths:
            number = max(number, paths.find_last_match(path[self.base_length :]))
        return self._rules[number] if number >= 0 else None

    @cached_property
    def _folder_indexes(self) -> tuple[PatternIndex, PatternIndex]:
        return self._index_patterns(is_folder=True)

    @cached_property
    def _file_indexes(self) -> tuple[PatternIndex, PatternIndex]:
        return self._index_patterns(is_folder=False)

    def _index_patterns(self, *, is_folder: bool) -> tuple[PatternIndex, PatternIndex]:
        """Return the patterns of names and those of paths, by their position in the rules."""
        numbered = [
            (number, rule.pattern)
            for number, rule in enumerate(self._rules)
            if is_folder or not rule.pattern.is_folders_only
        ]
        return (
            PatternIndex(each for each in numbered if each[1].is_name_only),
            PatternIndex(each for each in numbered if not each[1].is_name_only),
        )


def parse_ignore_file(
    content: bytes | None, source: str, *, base: int, fold_case: bool
) -> tuple[IgnoreRuleSet, ...]:
    """The rules in an ignore file that is called ``source`` when shown to a person, if any."""
    rules = []
    lines = (content or b"").removeprefix(_BYTE_ORDER_MARK).decode("latin-1").split("\n")
    for number, line in enumerate(lines, start=1):
        pattern = parse_pattern(line.removesuffix("\r"), fold_case=fold_case)
        if pattern:
            shown = line.strip().encode("latin-1").decode(errors="replace")
            rules.append(IgnoreRule(source, number, shown, pattern))
    return (IgnoreRuleSet(rules, base=base, fold_case=fold_case),) if rules else ()
