"""How much text fits into an answer of so many tokens."""

from collections.abc import Iterable

# By granite's tokenizer, which is in the box, 2.5 in Python, 2.8 in JavaScript, 3.4 in Markdown;
# chat models need fewer tokens for blanks.
CHARS_PER_TOKEN = 3

DEFAULT_BUDGET_TOKENS = 2_500

MIN_BUDGET_TOKENS, MAX_BUDGET_TOKENS = 100, 12_000

# Claude Code moves an answer of more than 50,000 characters to a file.
MAX_ANSWER_CHARS = 40_000


def count_budget_chars(tokens: int) -> int:
    """Return how many characters a number of tokens are."""
    return min(tokens * CHARS_PER_TOKEN, MAX_ANSWER_CHARS)


def take_within(blocks: Iterable[str], max_chars: int) -> list[str]:
    """Return the first blocks that fit, at least one."""
    taken: list[str] = []
    left = max_chars
    for block in blocks:
        left -= len(block) + 1
        if left < 0 and taken:
            break
        taken.append(block)
    return taken


def cut_lines(lines: list[str], max_chars: int) -> int:
    """Return how many of the lines fit, at least one."""
    return len(take_within(lines, max_chars)) if lines else 0
