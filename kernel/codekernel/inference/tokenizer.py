"""Tokenize texts for a model, truncated to its window, and count tokens.

Static models use a cache of word tokens.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from codekernel.errors import InvalidModel
from codekernel.inference.model_folder import ModelFolder
from codekernel.inference.tokenizer_loader import load_tokenizer

# How our static model splits text: runs of letters by their case, runs of digits, runs of Chinese.
# In ASCII whatever is not a letter or digit only separates, so that each run of both is tokenized
# by itself.
IDENTIFIER_WORD_PATTERN = (
    r"\p{Ll}+|\p{Lu}(?:\p{Ll}+|\p{Lu}+s(?!\p{L})|\p{Lu}*(?!\p{Ll}))|[0-9]+"
    r"|[\u4e00-\u9fff]{1,32}|[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]|\p{Lo}+"
)

_SPLIT_PRE_TOKENIZER = {
    "type": "Split",
    "pattern": {"Regex": IDENTIFIER_WORD_PATTERN},
    "behavior": "Removed",
    "invert": True,
}

_NFKC_NORMALIZER = {"type": "NFKC"}  # which leaves ASCII as it is

# 98 % of the words of twelve thousand chunks of Rust and Python are repeated; so many take 10 MB.
MAX_CACHED_WORDS = 65_536

# Longer runs are data, and none is met twice.
MAX_CACHED_WORD_CHARS = 64

_ASCII = 128

_NON_WORD_TO_SPACE = bytes(
    byte if byte < _ASCII and chr(byte).isalnum() else ord(" ") for byte in range(256)
)


class WordTokenCache(dict[str, list[int]]):
    """The tokens of words that one tokenizer has met; any number of threads may use it."""

    def __init__(self, tokenizer: Any) -> None:
        super().__init__()
        self._tokenizer = tokenizer

    @staticmethod
    def supports(tokenizer: Any) -> bool:
        """Return whether a tokenizer splits each run of letters and digits by itself."""
        return (
            type(tokenizer.model).__name__ == "WordPiece"
            and _load_state(tokenizer.normalizer) == _NFKC_NORMALIZER
            and _load_state(tokenizer.pre_tokenizer) == _SPLIT_PRE_TOKENIZER
            and tokenizer.post_processor is None
            and not tokenizer.get_added_tokens_decoder()
        )

    def encode(self, text: str, max_tokens: int) -> list[int]:
        """Return the first ``max_tokens`` tokens of an ASCII text."""
        words = text.encode("ascii").translate(_NON_WORD_TO_SPACE).decode("ascii").split()
        return list(chain.from_iterable(map(self.__getitem__, words)))[:max_tokens]

    def __missing__(self, word: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(word, add_special_tokens=False).ids
        if len(word) <= MAX_CACHED_WORD_CHARS:
            if len(self) >= MAX_CACHED_WORDS:
                self.clear()
            self[word] = ids
        return ids


def _load_state(part: Any) -> object:
    return json.loads(part.__getstate__()) if part is not None else None


# A token is seldom longer; the model could not see what lies beyond, and tokenizing it would take
# seconds for a file that is one line of megabytes.
_MAX_CHARS_PER_TOKEN = 32

_REPEATED_SPACES = re.compile(r"[ \t]{2,}")

_LONE_SURROGATES = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class EncodedText:
    """The ids of one text, or of a pair, with special tokens, truncated to the model's window."""

    ids: list[int]
    type_ids: list[int]


class ModelTokenizer:
    """The tokenizer of one model folder."""

    def __init__(self, folder: ModelFolder) -> None:
        self._tokenizer = load_tokenizer(folder.path)
        self._tokenizer.enable_truncation(folder.max_tokens, strategy="longest_first")
        self._max_chars = folder.max_tokens * _MAX_CHARS_PER_TOKEN
        self._folder = folder
        has_word_cache = WordTokenCache.supports(self._tokenizer)
        self._word_cache = WordTokenCache(self._tokenizer) if has_word_cache else None
        self.pad_id = next(
            (
                found
                for name in ("<pad>", "[PAD]", "<|endoftext|>", "</s>")
                if (found := self._tokenizer.token_to_id(name)) is not None
            ),
            0,
        )

    @property
    def has_word_cache(self) -> bool:
        """Return whether the tokenizer is one of a static model, whose word tokens are cached."""
        return self._word_cache is not None

    def encode(self, texts: Sequence[str]) -> list[EncodedText]:
        """Return the tokens of each text."""
        clean = [self._clean_text(text) for text in texts]
        if self._word_cache is None:
            return self._encode_batch(clean)
        others = iter(self._encode_batch([text for text in clean if not text.isascii()]))
        return [
            self._encode_cached(self._word_cache, text) if text.isascii() else next(others)
            for text in clean
        ]

    def encode_pairs(self, pairs: Sequence[tuple[str, str]]) -> list[EncodedText]:
        """Return the tokens of each pair, as one sequence."""
        return self._encode_batch(
            [(self._clean_text(one), self._clean_text(other)) for one, other in pairs]
        )

    def _encode_cached(self, cache: WordTokenCache, text: str) -> EncodedText:
        ids = cache.encode(text, self._folder.max_tokens)
        return EncodedText(ids, [0] * len(ids))

    def _encode_batch(self, inputs: list[str] | list[tuple[str, str]]) -> list[EncodedText]:
        try:
            encodings = self._tokenizer.encode_batch_fast(inputs)
        except BaseException as error:
            # The package raises bare Exception, or a panic of its Rust that is not even that.
            if isinstance(error, Exception) or type(error).__name__ == "PanicException":
                raise InvalidModel(
                    f"the tokenizer in {self._folder.path} failed: {error}"
                ) from error
            raise
        return [EncodedText(encoding.ids, encoding.type_ids) for encoding in encodings]

    def _clean_text(self, text: str) -> str:
        text = text[: self._max_chars]
        if self._folder.collapse_spaces:
            text = _REPEATED_SPACES.sub(" ", text)
        return text if text.isascii() else _LONE_SURROGATES.sub("\ufffd", text)


# Characters given to the tokenizer at once; a text of megabytes is counted in pieces, whose seams
# add a token each at the most.
_COUNT_SLICE_CHARS = 100_000


class ModelTokenCounter:
    """Counts with the tokenizer of a model folder, for any number of threads."""

    def __init__(self, folder: Path) -> None:
        self._tokenizer = load_tokenizer(folder)

    def __call__(self, text: str) -> int:
        """Count the tokens of a text, without special ones."""
        clean = text.encode(errors="replace").decode()
        pieces = [
            clean[start : start + _COUNT_SLICE_CHARS]
            for start in range(0, len(clean), _COUNT_SLICE_CHARS)
        ]
        encodings = self._tokenizer.encode_batch_fast(pieces, add_special_tokens=False)
        return sum(len(encoding.ids) for encoding in encodings)
