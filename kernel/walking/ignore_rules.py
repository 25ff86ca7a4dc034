"""The rules of one ignore file, and which of them has the last word on a path.

All patterns of a file become one regular expression, last rule first, so that the first
alternative that matches is the rule that counts; names without wildcards are looked up.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from kernel.walking.ignore_patterns import Pattern, parse

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
Match = Callable[[str], re.Match[str] | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """A line of an ignore file."""

    source: str
    line: int
    text: str
    pattern: Pattern

    def __str__(self) -> str:
        return f"{self.source} line {self.line}: {self.text}"


class RuleSet:
    """The rules of one file, for the paths below the folder that they speak about.

    ``base`` is how many characters of a path name that folder, with its slash.
    """

    def __init__(self, rules: Sequence[Rule], *, base: int, fold_case: bool = False) -> None:
        self.base = base
        self._rules = rules
        self._fold_case = fold_case
        # Folders that a negated rule spells out: the way to what it wants back.
        self.named_folders = tuple(
            rule.pattern.named_folders
            for rule in rules
            if rule.pattern.negated and rule.pattern.named_folders
        )

    def last_word(self, name: str, path: str, *, is_folder: bool) -> Rule | None:
        """The last rule that matches; ``name`` is the end of ``path``, both byte text."""
        table = self._for_folders if is_folder else self._for_files
        number = table.names.get(name, -1)
        if table.match_name and (found := table.match_name(name)):
            number = max(number, table.name_numbers[(found.lastindex or 1) - 1])
        if table.has_paths:
            below = path[self.base :]
            number = max(number, table.paths.get(below, -1))
            if table.match_path and (found := table.match_path(below)):
                number = max(number, table.path_numbers[(found.lastindex or 1) - 1])
        return self._rules[number] if number >= 0 else None

    @cached_property
    def _for_folders(self) -> "_Table":
        return _Table(self._rules, folders=True, fold_case=self._fold_case)

    @cached_property
    def _for_files(self) -> "_Table":
        return _Table(self._rules, folders=False, fold_case=self._fold_case)


class _Table:
    """Rules prepared for looking up: the numbers are positions in the list of rules."""

    __slots__ = (
        "has_paths",
        "match_name",
        "match_path",
        "name_numbers",
        "names",
        "path_numbers",
        "paths",
    )

    def __init__(self, rules: Sequence[Rule], *, folders: bool, fold_case: bool) -> None:
        self.names: dict[str, int] = {}
        self.paths: dict[str, int] = {}
        self.name_numbers: list[int] = []
        self.path_numbers: list[int] = []
        for number, rule in enumerate(rules):
            pattern = rule.pattern
            if pattern.folders_only and not folders:
                continue
            if pattern.literal is not None and not fold_case:
                (self.names if pattern.by_name else self.paths)[pattern.literal] = number
            else:
                (self.name_numbers if pattern.by_name else self.path_numbers).append(number)
        self.name_numbers.reverse()
        self.path_numbers.reverse()
        self.match_name = _any_of(rules, self.name_numbers, fold_case=fold_case)
        self.match_path = _any_of(rules, self.path_numbers, fold_case=fold_case)
        self.has_paths = bool(self.paths or self.path_numbers)


def _any_of(rules: Sequence[Rule], numbers: Sequence[int], *, fold_case: bool) -> Match | None:
    if not numbers:
        return None
    # Byte text: only ASCII letters have another case, as in git.
    flags = re.DOTALL | re.ASCII | (re.IGNORECASE if fold_case else 0)
    alternatives = "|".join(f"({rules[number].pattern.expression})" for number in numbers)
    return re.compile(alternatives, flags).fullmatch


def rule_sets(
    content: bytes | None, source: str, *, base: int, fold_case: bool
) -> tuple[RuleSet, ...]:
    """The rules in an ignore file that is called ``source`` when shown to a person, if any."""
    rules = []
    lines = (content or b"").removeprefix(_BYTE_ORDER_MARK).decode("latin-1").split("\n")
    for number, line in enumerate(lines, start=1):
        pattern = parse(line.removesuffix("\r"), fold_case=fold_case)
        if pattern:
            shown = line.strip().encode("latin-1").decode(errors="replace")
            rules.append(Rule(source, number, shown, pattern))
    return (RuleSet(rules, base=base, fold_case=fold_case),) if rules else ()
