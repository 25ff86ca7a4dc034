"""Mask the secrets of a text before it leaves the machine; the person's own screen keeps them."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from kernel.masking.assigned import scan_assigned
from kernel.masking.context_rules import CONTEXT_RULES, MIN_NAMELESS_CHARACTERS, NAMELESS_RULE
from kernel.masking.kubernetes import scan_kubernetes
from kernel.masking.private_keys import (
    MIN_MATERIAL_CHARACTERS,
    PRIVATE_KEY_RULES,
    scan_key_material,
)
from kernel.masking.rules import RuleTable, Span
from kernel.masking.syntax_rules import SYNTAX_RULES
from kernel.masking.token_rules import TOKEN_RULES
from kernel.masking.token_rules_more import MORE_TOKEN_RULES

MARK = "[masked: "
# Every token has a run of these characters in it; most texts have few such runs, which makes the
# search for the prefixes of tokens ten times as fast.
_LONG_RUN = re.compile(r"(?<![a-z0-9_+/=.~%:!$|@-])[a-z0-9_+/=.~%:!$|@-]{16,}")
_TOKENS = RuleTable((*TOKEN_RULES, *MORE_TOKEN_RULES))
_CONTEXT = RuleTable((*PRIVATE_KEY_RULES, *CONTEXT_RULES, *SYNTAX_RULES))
_ASCII_LOWER = {ord(letter): ord(letter) + 32 for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
_MARKED = re.compile(r"\[masked: [A-Za-z0-9 .]{1,40}\]")


@dataclass(frozen=True, slots=True)
class MaskedText:
    """A text that may leave the machine, and how many secrets were taken out of it."""

    text: str
    count: int


def mask_secrets(text: str) -> MaskedText:
    """Take the secrets out; the lines stay as many as they were."""
    # str.lower would change the length of some texts, and with it every position.
    lowered = text.lower() if text.isascii() else text.translate(_ASCII_LOWER)
    spans = sorted(_scan(text, lowered))
    if not spans:
        return MaskedText(text, 0)
    marked = [match.span() for match in _MARKED.finditer(text)] if MARK in text else []
    parts: list[str] = []
    count = done = 0
    for begin, end, kind in _merge(spans):
        if any(first < end and begin < last for first, last in marked):
            continue  # was masked before
        parts += (text[done:begin], f"{MARK}{kind}]", "\n" * text.count("\n", begin, end))
        done = end
        count += 1
    parts.append(text[done:])
    return MaskedText("".join(parts), count)


@lru_cache(maxsize=4096)
def mask_repeated(text: str) -> MaskedText:
    """Mask a text that is sent again and again, as the messages of a conversation are."""
    return mask_secrets(text)


def _scan(text: str, lowered: str) -> Iterator[Span]:
    yield from _CONTEXT.scan(text, lowered)
    yield from scan_assigned(text, lowered)
    yield from scan_kubernetes(text, lowered)
    runs = _LONG_RUN.findall(lowered)
    if runs:
        longest = len(max(runs, key=len))
        yield from _TOKENS.scan(text, " ".join(runs), longest)
        if longest >= MIN_NAMELESS_CHARACTERS:
            yield from NAMELESS_RULE.find(text)
        if longest >= MIN_MATERIAL_CHARACTERS:
            yield from scan_key_material(text)


def _merge(spans: Iterable[Span]) -> Iterator[Span]:
    """Yield spans that do not overlap; the one that begins first says what it is."""
    current: Span | None = None
    for span in spans:
        if current is None or span.begin >= current.end:
            if current:
                yield current
            current = span
        elif span.end > current.end:
            current = current._replace(end=span.end)
    if current:
        yield current
