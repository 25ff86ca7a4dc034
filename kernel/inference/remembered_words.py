"""Tokens of words met before, for tokenizers to which a word means the same wherever it stands.

Code repeats its words: looking them up takes a fifth of the time that tokenising the text again
does, and tokenising is nearly all that a static model costs.
"""

import json
from itertools import chain
from typing import Any

# How our static model takes text apart: runs of letters by their case, runs of digits, runs of
# Chinese. In ASCII whatever is no letter and no digit only separates, so that each run of both is
# tokenised by itself.
WORDS_OF_IDENTIFIERS = (
    r"\p{Ll}+|\p{Lu}(?:\p{Ll}+|\p{Lu}+s(?!\p{L})|\p{Lu}*(?!\p{Ll}))|[0-9]+"
    r"|[\u4e00-\u9fff]{1,32}|[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]|\p{Lo}+"
)
_SPLIT = {
    "type": "Split",
    "pattern": {"Regex": WORDS_OF_IDENTIFIERS},
    "behavior": "Removed",
    "invert": True,
}
_NORMALIZER = {"type": "NFKC"}  # which leaves ASCII as it is

# 98 % of the words of twelve thousand chunks of Rust and Python are repeated; so many take 10 MB.
WORDS_REMEMBERED = 65_536
# Longer runs are data, and none is met twice.
LONGEST_WORD = 64

_ASCII = 128
_BLANK_BETWEEN_WORDS = bytes(
    byte if byte < _ASCII and chr(byte).isalnum() else ord(" ") for byte in range(256)
)


class RememberedWords:
    """The words that one tokenizer has taken apart; any number of threads may ask."""

    def __init__(self, tokenizer: Any) -> None:
        self._known = _Known(tokenizer)

    @staticmethod
    def suit(tokenizer: Any) -> bool:
        """Whether a tokenizer takes each run of letters and digits apart by itself."""
        return (
            type(tokenizer.model).__name__ == "WordPiece"
            and _state(tokenizer.normalizer) == _NORMALIZER
            and _state(tokenizer.pre_tokenizer) == _SPLIT
            and tokenizer.post_processor is None
            and not tokenizer.get_added_tokens_decoder()
        )

    def ids(self, text: str, most: int) -> list[int]:
        """The first ``most`` tokens of an ASCII text."""
        words = text.encode("ascii").translate(_BLANK_BETWEEN_WORDS).decode("ascii").split()
        return list(chain.from_iterable(map(self._known.__getitem__, words)))[:most]


class _Known(dict[str, list[int]]):
    def __init__(self, tokenizer: Any) -> None:
        super().__init__()
        self._tokenizer = tokenizer

    def __missing__(self, word: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(word, add_special_tokens=False).ids
        if len(word) <= LONGEST_WORD:
            if len(self) >= WORDS_REMEMBERED:
                self.clear()
            self[word] = ids
        return ids


def _state(part: Any) -> object:
    return json.loads(part.__getstate__()) if part is not None else None
