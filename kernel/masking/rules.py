"""A rule of masking as data, and the scan of a text with a table of them.

A rule's pattern is compiled when one of its keywords first occurs: a table costs nothing until
then, and a text without keywords costs one substring search per keyword.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from kernel.masking.randomness import entropy_bits


class Span(NamedTuple):
    """A part of a text to be masked, and what it is."""

    begin: int
    end: int
    kind: str


@dataclass(frozen=True, eq=False)
class Rule:
    """Text that ``pattern`` matches is a secret; its group ``secret`` if it has one.

    ``keywords`` are lower-case; one of them is in every text that can match. A pattern is linear in
    the length of the text: every repetition is bounded, or cannot be entered in two ways.
    """

    kind: str
    keywords: tuple[str, ...]
    pattern: str
    # Bits per character; keeps names such as ``sk-something-in-words`` out.
    min_entropy: float = 0.0
    accepts: Callable[[str], bool] | None = None
    # The longest run of characters in the text is at least so long; for keywords that are common.
    min_run: int = 0

    @cached_property
    def compiled(self) -> re.Pattern[str]:
        """The pattern, compiled when first needed."""
        return re.compile(self.pattern, re.MULTILINE)

    def find(self, text: str) -> Iterator[Span]:
        """Yield what is to be masked."""
        group = "secret" if "secret" in self.compiled.groupindex else 0
        for match in self.compiled.finditer(text):
            begin, end = match.span(group)
            if begin < 0:
                continue
            value = text[begin:end]
            if self.min_entropy and entropy_bits(value) < self.min_entropy:
                continue
            if self.accepts is None or self.accepts(value):
                yield Span(begin, end, self.kind)


class RuleTable:
    """Rules with their keywords side by side, so that a text is searched for each in one loop."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._keywords = [(keyword, rule) for rule in rules for keyword in rule.keywords]

    def scan(self, text: str, where: str, longest_run: int = 0) -> Iterator[Span]:
        """Yield what the rules find whose keyword is in ``where``, lower-case text of ``text``."""
        for rule in dict.fromkeys([rule for keyword, rule in self._keywords if keyword in where]):
            if rule.min_run <= longest_run:
                yield from rule.find(text)
