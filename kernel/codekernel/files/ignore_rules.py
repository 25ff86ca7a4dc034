"""The rules of one ignore file and the last of them that matches a path.

Literal names are looked up, globs through an index of their literal parts: 20,000 patterns on 300
files took 143 s as one regular expression.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from codekernel.files.ignore_patterns import IgnorePattern, parse_pattern

# Longer keys would be rarer in texts, and each length costs a slice at each place of a text.
MAX_GLOB_KEY_CHARS = 8

FullMatch = Callable[[str], re.Match[str] | None]

NO_RULE = -1


class GlobIndex:
    """Patterns by number; texts are byte text, in lower case if ``fold_case``."""

    def __init__(self, patterns: Iterable[tuple[int, IgnorePattern]], *, fold_case: bool) -> None:
        # Byte text: only ASCII letters have another case, as in git.
        self._flags = re.DOTALL | re.ASCII | (re.IGNORECASE if fold_case else 0)
        self._expressions: dict[int, str] = {}
        self._endings: dict[int, str] = {}
        self._compiled: dict[int, FullMatch] = {}
        self._by_key: dict[str, list[int]] = {}
        self._without_key: list[int] = []
        self._prefixes: dict[str, int] = {}
        self._suffixes: dict[str, int] = {}
        last = {pattern.expression: (number, pattern) for number, pattern in patterns}
        for number, pattern in sorted(last.values(), key=_get_number, reverse=True):
            self._add(number, pattern, fold_case=fold_case)
        self._key_lengths = _list_lengths(self._by_key)
        self._prefix_lengths = _list_lengths(self._prefixes)
        self._suffix_lengths = _list_lengths(self._suffixes)

    def __bool__(self) -> bool:
        return bool(self._expressions or self._prefixes or self._suffixes)

    def find_last_match(self, text: str) -> int:
        """The highest number of a pattern that matches the whole text; NO_RULE if none does."""
        best, size = NO_RULE, len(text)
        for length in self._prefix_lengths:
            best = max(best, self._prefixes.get(text[:length], NO_RULE))
        for length in self._suffix_lengths:
            if length <= size:
                best = max(best, self._suffixes.get(text[size - length :], NO_RULE))
        best = max(best, self._find_first_match(self._without_key, text, best))
        for length in self._key_lengths:
            for key in {text[at : at + length] for at in range(size - length + 1)}:
                numbers = self._by_key.get(key)
                if numbers:
                    best = max(best, self._find_first_match(numbers, text, best))
        return best

    def _add(self, number: int, pattern: IgnorePattern, *, fold_case: bool) -> None:
        literal = lower_ascii(pattern.longest_literal) if fold_case else pattern.longest_literal
        if pattern.is_name_only and pattern.is_prefix:
            self._prefixes.setdefault(literal, number)
        elif pattern.is_name_only and pattern.is_suffix:
            self._suffixes.setdefault(literal, number)
        else:
            self._expressions[number] = pattern.expression
            self._endings[number] = lower_ascii(pattern.ending) if fold_case else pattern.ending
            if literal:
                self._by_key.setdefault(literal[:MAX_GLOB_KEY_CHARS], []).append(number)
            else:
                self._without_key.append(number)

    def _find_first_match(self, numbers: Sequence[int], text: str, best: int) -> int:
        """The first of ``numbers``, which descend, that matches and is higher than ``best``."""
        for number in numbers:
            if number <= best:
                break
            if not text.endswith(self._endings[number]):
                continue  # quicker than the expression, and saves compiling it
            match = self._compiled.get(number)
            if match is None:
                match = re.compile(self._expressions[number], self._flags).fullmatch
                self._compiled[number] = match
            if match(text):
                return number
        return NO_RULE


def lower_ascii(text: str) -> str:
    """Byte text with its ASCII letters small; others have no other case for git."""
    return text.encode("latin-1").lower().decode("latin-1")


def _get_number(numbered: tuple[int, IgnorePattern]) -> int:
    return numbered[0]


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
        return self._named_folders[place : place + 1] != [] and self._named_folders[
            place
        ].startswith(folder)

    def find_last_match(self, name: str, path: str, *, is_folder: bool) -> IgnoreRule | None:
        """The last rule that matches; ``name`` is the end of ``path``, both byte text."""
        table = self._folder_lookup if is_folder else self._file_lookup
        if self._fold_case:
            name, path = lower_ascii(name), lower_ascii(path)
        number = max(table.names.get(name, NO_RULE), table.name_globs.find_last_match(name))
        if table.has_paths:
            below = path[self.base_length :]
            number = max(
                number, table.paths.get(below, NO_RULE), table.path_globs.find_last_match(below)
            )
        return self._rules[number] if number >= 0 else None

    @cached_property
    def _folder_lookup(self) -> "_RuleLookup":
        return _RuleLookup(self._rules, folders=True, fold_case=self._fold_case)

    @cached_property
    def _file_lookup(self) -> "_RuleLookup":
        return _RuleLookup(self._rules, folders=False, fold_case=self._fold_case)


class _RuleLookup:
    """Rules prepared for looking up: the numbers are positions in the list of rules."""

    __slots__ = ("has_paths", "name_globs", "names", "path_globs", "paths")

    def __init__(self, rules: Sequence[IgnoreRule], *, folders: bool, fold_case: bool) -> None:
        self.names: dict[str, int] = {}
        self.paths: dict[str, int] = {}
        globs: dict[bool, list[tuple[int, IgnorePattern]]] = {True: [], False: []}
        for number, rule in enumerate(rules):
            pattern = rule.pattern
            if pattern.is_folders_only and not folders:
                continue
            if pattern.literal is not None:
                literal = lower_ascii(pattern.literal) if fold_case else pattern.literal
                (self.names if pattern.is_name_only else self.paths)[literal] = number
            else:
                globs[pattern.is_name_only].append((number, pattern))
        self.name_globs = GlobIndex(globs[True], fold_case=fold_case)
        self.path_globs = GlobIndex(globs[False], fold_case=fold_case)
        self.has_paths = bool(self.paths or self.path_globs)


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
