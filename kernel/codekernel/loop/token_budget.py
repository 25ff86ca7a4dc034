"""Token budget of a request: how many tokens may be sent to a model, and which texts fit.

A text whose bytes fit is not counted, so that the first token of an ordinary answer does not
wait for a tokenizer.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

# Tokens; assumed of a model of which nothing is known. Smaller ones refuse, and get half.
DEFAULT_CONTEXT_TOKENS = 32_768

# Tokens kept free for the answer, and at most this share of a small window.
RESERVED_ANSWER_TOKENS = 4_096

ANSWER_WINDOW_DIVISOR = 4

# What a chat template adds to each message.
MESSAGE_OVERHEAD_TOKENS = 8

# Texts whose count is remembered: more than the excerpts of any one turn, and than the messages of
# any agent. One too few, and all of them are counted again each time.
_TOKEN_CACHE_SIZE = 4_096

CountTokens = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class TokenBudget:
    """The maximum of tokens of all texts of a request together."""

    max_tokens: int
    count_tokens: CountTokens

    def count_remaining(self, texts: Iterable[str]) -> int:
        """Return the tokens left after these texts."""
        return self.max_tokens - sum(
            self.count_tokens(text) + MESSAGE_OVERHEAD_TOKENS for text in texts
        )

    def can_fit(self, texts: Sequence[str]) -> bool:
        """Return whether all of these fit."""
        if (
            sum(len(text.encode(errors="replace")) + MESSAGE_OVERHEAD_TOKENS for text in texts)
            < self.max_tokens
        ):
            return True
        return self.count_remaining(texts) >= 0

    def select_fitting(
        self, fixed: Sequence[str], optional: Sequence[str], order: Sequence[int]
    ) -> set[int]:
        """Return which of ``optional`` fit beside ``fixed``; the first of ``order`` matter most."""
        if self.can_fit([*fixed, *optional]):
            return set(range(len(optional)))
        left = self.count_remaining(fixed)
        kept: set[int] = set()
        for index in order:
            cost = self.count_tokens(optional[index]) + MESSAGE_OVERHEAD_TOKENS
            if cost <= left:
                kept.add(index)
                left -= cost
        return kept


def make_token_budget(context_tokens: int | None, count_tokens: CountTokens) -> TokenBudget:
    """Return the budget of a model with this window, with tokens reserved for the answer."""
    window = context_tokens or DEFAULT_CONTEXT_TOKENS
    answer = min(RESERVED_ANSWER_TOKENS, window // ANSWER_WINDOW_DIVISOR)
    return TokenBudget(window - answer, lru_cache(maxsize=_TOKEN_CACHE_SIZE)(count_tokens))


def shrink_token_budget(
    budget: TokenBudget, sent: Sequence[str], context_tokens: int | None
) -> TokenBudget:
    """Return a smaller budget after a refusal: the window the model has, else half of ``sent``."""
    refused = sum(budget.count_tokens(text) + MESSAGE_OVERHEAD_TOKENS for text in sent)
    reported = (
        make_token_budget(context_tokens, budget.count_tokens).max_tokens
        if context_tokens
        else refused
    )
    return TokenBudget(reported if reported < refused else refused // 2, budget.count_tokens)
