"""Texts to token ids, on all cores and outside of the interpreter lock."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from kernel.errors import InvalidModel
from kernel.inference.model_folder import ModelFolder
from kernel.inference.remembered_words import RememberedWords
from kernel.inference.tokenizer_files import load_tokenizer

# A token is seldom longer; what lies beyond could not be seen by the model anyway, and tokenising
# it would take seconds for a file that is one line of megabytes.
_CHARACTERS_PER_TOKEN = 32
_SPACES = re.compile(r"[ \t]{2,}")
_HALF_CHARACTERS = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Tokens:
    """The ids of one text, or of a pair, with special tokens, cut to the model's window."""

    ids: list[int]
    types: list[int]


class Tokenization:
    """The tokenizer of one model folder."""

    def __init__(self, folder: ModelFolder) -> None:
        self._tokenizer = load_tokenizer(folder.path)
        self._tokenizer.enable_truncation(folder.max_tokens, strategy="longest_first")
        self._characters = folder.max_tokens * _CHARACTERS_PER_TOKEN
        self._folder = folder
        suits = RememberedWords.suit(self._tokenizer)
        self._words = RememberedWords(self._tokenizer) if suits else None
        self.pad_id = next(
            (
                found
                for name in ("<pad>", "[PAD]", "<|endoftext|>", "</s>")
                if (found := self._tokenizer.token_to_id(name)) is not None
            ),
            0,
        )

    @property
    def remembers_words(self) -> bool:
        """Whether the tokenizer is one of a static model's, which take a word apart once."""
        return self._words is not None

    def encode(self, texts: Sequence[str]) -> list[Tokens]:
        """Tokens of each text."""
        clean = [self._clean(text) for text in texts]
        if self._words is None:
            return self._encode(clean)
        others = iter(self._encode([text for text in clean if not text.isascii()]))
        return [
            self._remembered(self._words, text) if text.isascii() else next(others)
            for text in clean
        ]

    def encode_pairs(self, pairs: Sequence[tuple[str, str]]) -> list[Tokens]:
        """Tokens of each pair, as one sequence."""
        return self._encode([(self._clean(one), self._clean(other)) for one, other in pairs])

    def _remembered(self, words: RememberedWords, text: str) -> Tokens:
        ids = words.ids(text, self._folder.max_tokens)
        return Tokens(ids, [0] * len(ids))

    def _encode(self, inputs: list[str] | list[tuple[str, str]]) -> list[Tokens]:
        try:
            encodings = self._tokenizer.encode_batch_fast(inputs)
        except BaseException as error:
            # The package raises bare Exception, or a panic of its Rust that is not even that.
            if isinstance(error, Exception) or type(error).__name__ == "PanicException":
                raise InvalidModel(
                    f"the tokenizer in {self._folder.path} failed: {error}"
                ) from error
            raise
        return [Tokens(encoding.ids, encoding.type_ids) for encoding in encodings]

    def _clean(self, text: str) -> str:
        cut = text[: self._characters]
        if self._folder.collapse_spaces:
            cut = _SPACES.sub(" ", cut)
        return cut if cut.isascii() else _HALF_CHARACTERS.sub("\ufffd", cut)
