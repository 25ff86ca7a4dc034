"""A static model that reads Chinese words: tokens and rows added to one that reads characters.

A word's row is where the model puts its English senses, as long as the first sense is: 错误处理
weighs as much as "error handling". Runs of characters
are cut by WordPiece, the longest known word first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from bags import bags
from chinese import Word, plain
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

LATER_SENSE = 0.5  # what each sense counts of the one before
# Smooth inverse frequency of single characters: 的 says next to nothing.
STRENGTH = 0.001
# As static_vocabulary.SPLIT, but characters of Chinese stay together. Longer runs than a word may
# have characters would be unknown as a whole, so they are cut.
SPLIT = (
    r"\p{Ll}+|\p{Lu}(?:\p{Ll}+|\p{Lu}+s(?!\p{L})|\p{Lu}*(?!\p{Ll}))|[0-9]+"
    r"|[\u4e00-\u9fff]{1,32}|[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]|\p{Lo}+"
)
IDEOGRAPHS = range(0x4E00, 0xA000)
MAX_UNKNOWN = 40


@dataclass(frozen=True)
class Static:
    """A static model: its tokenizer, the row of each token, the table."""

    tokenizer: Tokenizer
    rows: np.ndarray
    table: np.ndarray

    def sums(self, texts: Sequence[str], longest: int = 64) -> np.ndarray:
        """Where the texts lie, not brought to length one; ``longest`` tokens of each are read."""
        made = bags(texts, self.tokenizer, self.rows, longest)
        found = np.zeros((len(texts), self.table.shape[1]), np.float32)
        owners = np.repeat(np.arange(len(texts)), np.diff(made.starts))
        np.add.at(found, owners, self.table[made.rows] * made.times[:, None])
        return found


def with_words(model: Static, words: Sequence[Word], counts: Mapping[str, int]) -> Static:
    """The model with Chinese words in it."""
    kept = [word for word in words if word.senses]
    added, lengths = place_words(model, kept)
    known = lengths > 0
    kept = [word for word, is_known in zip(kept, known, strict=True) if is_known]
    tokens = _tokens(model, kept, len(model.table))
    table = np.concatenate([_lighter(model, counts), added[known]])
    built = Tokenizer(
        models.WordPiece(
            {token: number for number, token in enumerate(tokens)},
            unk_token="[UNK]",  # noqa: S106 - a token, not a password
            max_input_chars_per_word=MAX_UNKNOWN,
        )
    )
    built.normalizer = normalizers.NFKC()
    built.pre_tokenizer = pre_tokenizers.Split(Regex(SPLIT), "removed", invert=True)
    return Static(built, np.fromiter(tokens.values(), np.int32), table)


def place_words(model: Static, words: Sequence[Word]) -> tuple[np.ndarray, np.ndarray]:
    """For each word its row, and how long it is."""
    rows = np.zeros((len(words), model.table.shape[1]), np.float32)
    lengths = np.zeros(len(words), np.float32)
    owners, weights, texts = [], [], []
    for number, word in enumerate(words):
        for order, sense in enumerate(word.senses):
            owners.append(number)
            weights.append(LATER_SENSE**order)
            texts.append(plain(sense))
    sums = model.sums(texts)
    long = np.linalg.norm(sums, axis=1)
    for owner, weight, vector, length in zip(owners, weights, sums, long, strict=True):
        if length > 0:
            rows[owner] += weight * vector / length
            lengths[owner] = lengths[owner] or length
    rows *= (lengths / np.maximum(np.linalg.norm(rows, axis=1), 1e-9))[:, None]
    return rows, lengths


def _tokens(model: Static, words: Sequence[Word], first: int) -> dict[str, int]:
    """Every token with its row: the model's own in their order, then the words, then characters."""
    own = sorted(model.tokenizer.get_vocab().items(), key=lambda item: item[1])
    tokens = {token: int(row) for (token, _), row in zip(own, model.rows, strict=True)}
    for row, word in enumerate(words, start=first):
        for form in (word.form, *word.others):
            tokens.setdefault(form, row)
            tokens.setdefault(f"##{form}", row)
    # One unknown character would make its whole run unknown, so that all have tokens.
    for character in map(chr, IDEOGRAPHS):
        tokens.setdefault(f"##{character}", tokens.setdefault(character, 0))
    return tokens


def _lighter(model: Static, counts: Mapping[str, int]) -> np.ndarray:
    """The table with the rows of frequent characters made short."""
    table, total = model.table.copy(), sum(counts.values())
    for token, number in model.tokenizer.get_vocab().items():
        if len(token) == 1 and ord(token) in IDEOGRAPHS and (row := model.rows[number]):
            share = counts.get(token, 0) / total
            table[row] = model.table[row] * (STRENGTH / (STRENGTH + share))
    return table
