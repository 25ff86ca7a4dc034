"""How much a model is given to read: tokens, counted only where a bound on them does not suffice.

No tokenizer makes more tokens of a text than it has bytes. A text whose bytes fit needs no
counting, which keeps the first token of an ordinary answer from waiting for a tokenizer.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

# Tokens; assumed of a model of which nothing is known. Smaller ones refuse, and get half.
DEFAULT_WINDOW = 32_768
# Tokens kept free for the answer, and at most this share of a small window.
ANSWER_TOKENS = 4_096
ANSWER_SHARE = 4
# What a chat template adds to each message.
MESSAGE_TOKENS = 8
# Texts whose count is remembered: more than the excerpts of any one turn, and than the messages of
# any agent. One too few, and all of them are counted again each time.
_REMEMBERED = 4_096

CountTokens = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Budget:
    """Tokens that everything sent may have together."""

    tokens: int
    count: CountTokens

    def left(self, texts: Iterable[str]) -> int:
        """What is left after these, never less than it really is by more than the bound errs."""
        return self.tokens - sum(self.count(text) + MESSAGE_TOKENS for text in texts)

    def holds(self, texts: Sequence[str]) -> bool:
        """Whether all of these fit."""
        if sum(len(text.encode(errors="replace")) + MESSAGE_TOKENS for text in texts) < self.tokens:
            return True
        return self.left(texts) >= 0

    def chosen(
        self, fixed: Sequence[str], optional: Sequence[str], order: Sequence[int]
    ) -> set[int]:
        """Which of ``optional`` fit beside ``fixed``; the first of ``order`` matter most."""
        if self.holds([*fixed, *optional]):
            return set(range(len(optional)))
        left = self.left(fixed)
        kept: set[int] = set()
        for index in order:
            cost = self.count(optional[index]) + MESSAGE_TOKENS
            if cost <= left:
                kept.add(index)
                left -= cost
        return kept


def budget_for(window: int | None, count: CountTokens) -> Budget:
    """What may be sent to a model with this window, so that it still can answer."""
    whole = window or DEFAULT_WINDOW
    answer = min(ANSWER_TOKENS, whole // ANSWER_SHARE)
    return Budget(whole - answer, lru_cache(maxsize=_REMEMBERED)(count))


def shortened(budget: Budget, sent: Sequence[str], window: int | None) -> Budget:
    """After a model has refused what was sent: what it says it can read, else half of that."""
    refused = sum(budget.count(text) + MESSAGE_TOKENS for text in sent)
    told = budget_for(window, budget.count).tokens if window else refused
    return Budget(told if told < refused else refused // 2, budget.count)
