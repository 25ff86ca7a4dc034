"""Texts of the corpus that the teacher reads: the same number of each kind from every language."""

import random
import re
from collections.abc import Iterator
from pathlib import Path

import static_corpus
import static_python
import static_text
from static_archives import Source

SEED = 20261116
CHUNKS = 400  # of each language
SENTENCES = 2000  # of each language, first sentences of documentation
SPACES = re.compile(r"[ \t]+")  # the teacher spends a token on every space, the student none
COMMENT = re.compile(r"(?:^[ \t]*(?://|#|--|\*)[^\n]*\n)+", re.MULTILINE)
MIN_WORDS = 4


def draw(corpus: Path) -> tuple[list[str], list[str]]:
    """Chunks of code and prose, and sentences about code, each list in random order."""
    chunks: dict[str, list[str]] = {}
    sentences: dict[str, set[str]] = {}
    for source in static_corpus.read(corpus):
        mine = [SPACES.sub(" ", piece) for piece in static_text.chunks(source.text)]
        chunks.setdefault(source.language, []).extend(mine)
        sentences.setdefault(source.language, set()).update(_sentences(source))
    dice = random.Random(SEED)  # noqa: S311 - a sample, not a secret
    return (
        _drawn(dice, chunks, CHUNKS),
        _drawn(dice, {name: sorted(found) for name, found in sentences.items()}, SENTENCES),
    )


def _drawn(dice: random.Random, texts: dict[str, list[str]], each: int) -> list[str]:
    drawn = [
        text
        for language in sorted(texts)
        for text in dice.sample(texts[language], min(each, len(texts[language])))
    ]
    dice.shuffle(drawn)
    return drawn


def _sentences(source: Source) -> Iterator[str]:
    if source.language == "python":
        yield from (function.query for function in static_python.functions(source.text))
        return
    for match in COMMENT.finditer(source.text):
        sentence = static_text.first_sentence(match[0])
        if len(static_text.split_words(sentence)) >= MIN_WORDS:
            yield sentence
