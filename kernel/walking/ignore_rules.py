"""The rules of one ignore file, and which of them has the last word on a path.

Names and paths without wildcards are looked up, all others through an index of their literal parts
(``ignore_globs.py``): a file of 20,000 rules costs about what it costs git.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from kernel.walking.ignore_globs import NO_RULE, GlobIndex, ascii_lower
from kernel.walking.ignore_patterns import Pattern, parse

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


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
        self._named_folders = sorted(
            rule.pattern.named_folders
            for rule in rules
            if rule.pattern.negated and rule.pattern.named_folders
        )

    def names_a_folder_below(self, folder: str) -> bool:
        """Whether a negated rule spells out a folder that is ``folder`` or lies in it."""
        place = bisect_left(self._named_folders, folder)
        return self._named_folders[place : place + 1] != [] and self._named_folders[
            place
        ].startswith(folder)

    def last_word(self, name: str, path: str, *, is_folder: bool) -> Rule | None:
        """The last rule that matches; ``name`` is the end of ``path``, both byte text."""
        table = self._for_folders if is_folder else self._for_files
        if self._fold_case:
            name, path = ascii_lower(name), ascii_lower(path)
        number = max(table.names.get(name, NO_RULE), table.name_globs.last_match(name))
        if table.has_paths:
            below = path[self.base :]
            number = max(
                number, table.paths.get(below, NO_RULE), table.path_globs.last_match(below)
            )
        return self._rules[number] if number >= 0 else None

    @cached_property
    def _for_folders(self) -> "_Table":
        return _Table(self._rules, folders=True, fold_case=self._fold_case)

    @cached_property
    def _for_files(self) -> "_Table":
        return _Table(self._rules, folders=False, fold_case=self._fold_case)


class _Table:
    """Rules prepared for looking up: the numbers are positions in the list of rules."""

    __slots__ = ("has_paths", "name_globs", "names", "path_globs", "paths")

    def __init__(self, rules: Sequence[Rule], *, folders: bool, fold_case: bool) -> None:
        self.names: dict[str, int] = {}
        self.paths: dict[str, int] = {}
        globs: dict[bool, list[tuple[int, Pattern]]] = {True: [], False: []}
        for number, rule in enumerate(rules):
            pattern = rule.pattern
            if pattern.folders_only and not folders:
                continue
            if pattern.literal is not None:
                literal = ascii_lower(pattern.literal) if fold_case else pattern.literal
                (self.names if pattern.by_name else self.paths)[literal] = number
            else:
                globs[pattern.by_name].append((number, pattern))
        self.name_globs = GlobIndex(globs[True], fold_case=fold_case)
        self.path_globs = GlobIndex(globs[False], fold_case=fold_case)
        self.has_paths = bool(self.paths or self.path_globs)


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
