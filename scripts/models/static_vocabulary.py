"""The vocabulary: words of identifiers and comments that many languages use, and the tokenizer.

A tokenizer lower-cases before it splits, which would lose parseHttp's seam. So it does not
lower-case: ``parse``, ``Parse`` and ``PARSE`` are three tokens, and the model maps the three to one
row of its table. Continuations (``##parse``, for unknown compounds such as ``xmlparse``) and
traditional Chinese characters share rows in the same way.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from static_archives import Source
from static_text import split_words
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

WORDS = 36_000
CONTINUATIONS = 12_000  # the most frequent words may also continue an unknown one
MIN_CONTINUATION = 3  # shorter ones cut words in silly places
MAX_WORD = 24
MIN_PACKAGES = 2  # a word of one package is a name, not vocabulary
MIN_PACKAGES_OF_A_NUMBER = 12  # 256 and 404 mean something, 4742 does not

# The tokenizer's own words: static_text.WORD for every alphabet, Chinese and its kin by character.
# After a capital: Server, or URLs, or HTTP (of HTTPServer). One Split with the commonest case first
# is the quickest pre-tokenizer we measured that keeps identifiers' seams.
SPLIT = (
    r"\p{Ll}+|\p{Lu}(?:\p{Ll}+|\p{Lu}+s(?!\p{L})|\p{Lu}*(?!\p{Ll}))|[0-9]+"
    r"|[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]|\p{Lo}+"
)
MAX_UNKNOWN = 40  # longer words are hashes and keys: one [UNK], not forty letters
PADDING, UNKNOWN = "[PAD]", "[UNK]"


@dataclass(frozen=True)
class Vocabulary:
    """The rows of the table, in order, with the share of all text that each has."""

    rows: list[str]
    shares: np.ndarray

    def save(self, path: Path) -> None:
        """Write as JSON."""
        path.write_text(json.dumps([self.rows, self.shares.tolist()]), encoding="utf-8")


def load(path: Path) -> Vocabulary:
    """Read what ``Vocabulary.save`` wrote."""
    rows, shares = json.loads(path.read_text(encoding="utf-8"))
    return Vocabulary(rows, np.array(shares))


def choose(corpus: Iterable[Source], characters: Iterable[str]) -> Vocabulary:
    """The words that matter over all languages alike, after ``characters`` that must be in."""
    by_language: dict[str, Counter[str]] = {}
    packages: dict[str, set[str]] = {}
    for source in corpus:
        found = Counter(split_words(source.text))
        by_language.setdefault(source.language, Counter()).update(found)
        for word in found:
            packages.setdefault(word, set()).add(source.package)
    share: dict[str, float] = defaultdict(float)
    for counts in by_language.values():
        total = sum(counts.values()) * len(by_language)
        for word, count in counts.items():
            share[word] += count / total
    for word in list(share):
        enough = MIN_PACKAGES_OF_A_NUMBER if word.isdigit() else MIN_PACKAGES
        if len(packages[word]) < enough or len(word) > MAX_WORD:
            del share[word]
    chosen = list("abcdefghijklmnopqrstuvwxyz0123456789")
    chosen += [
        word for word in sorted(share, key=share.__getitem__, reverse=True)[:WORDS] if len(word) > 1
    ]
    rarest = min(share[word] for word in chosen)
    chosen += characters
    return Vocabulary(chosen, np.array([share.get(word, rarest) for word in chosen]))


def tokenizer(vocabulary: Vocabulary, same: dict[str, str]) -> tuple[Tokenizer, np.ndarray]:
    """The tokenizer, and the row of each of its tokens.

    ``same`` maps further characters to characters of the vocabulary. Rows start at 1: row 0 is
    nothing, for padding and the unknown.
    """
    tokens = {PADDING: 0, UNKNOWN: 0}
    place = {word: row for row, word in enumerate(vocabulary.rows, start=1)}
    for word, row in place.items():
        for form in _forms(word):
            tokens.setdefault(form, row)
    for other, known in same.items():
        tokens.setdefault(other, place[known])
    for position, (word, row) in enumerate(place.items()):
        if len(word) == 1 or (len(word) >= MIN_CONTINUATION and position < CONTINUATIONS):
            tokens[f"##{word}"] = row
            tokens[f"##{word.upper()}"] = row
    model = models.WordPiece(
        {token: number for number, token in enumerate(tokens)},
        unk_token=UNKNOWN,
        max_input_chars_per_word=MAX_UNKNOWN,
    )
    built = Tokenizer(model)
    built.normalizer = normalizers.NFKC()
    built.pre_tokenizer = pre_tokenizers.Split(Regex(SPLIT), "removed", invert=True)
    return built, np.fromiter(tokens.values(), np.int32)


def _forms(word: str) -> Iterator[str]:
    """The cases in which SPLIT leaves a word: url, Url, URL; and URLs, the plural of URL."""
    yield from (word, word.capitalize(), word.upper())
    if word.endswith("s") and len(word) > MIN_CONTINUATION - 1:
        yield word[:-1].upper() + "s"
