"""Sentences that people wrote into code: comments and documentation of any language, by shape."""

import re
from collections.abc import Iterator

import beside  # noqa: F401 - makes the next ones importable
from static_text import first_sentence

COMMENT = re.compile(
    r"^[ \t]*/\*.*?\*/[ \t]*$"
    r"|(?:^[ \t]*(?://|#(?![!\[]|include|define|if|el|end|pragma)|--|;;)[^\n]*\n)+"
    r"|^[ \t]*(?:[rbu]{0,2})(?P<quote>\"\"\"|''').*?(?P=quote)"
    r"|^[ \t]*\{-.*?-\}|^[ \t]*@(?:module)?doc \"\"\".*?\"\"\"",
    re.MULTILINE | re.DOTALL,
)
NOT_WORTH = re.compile(
    r"copyright|licen[cs]e|all rights reserved|eslint|prettier|noinspection|todo|fixme|generated"
    r"|pylint|noqa|nolint|SPDX|-\*-|@ts-|istanbul|clang-format|vim:|@inheritdoc|^see ",
    re.IGNORECASE,
)
QUOTES = re.compile(r"^[ \t]*(?:@(?:module)?doc |[rbu]{0,2})(?:\"\"\"|''')|(?:\"\"\"|''')[ \t]*$")
CODE_LIKE = re.compile(r"[;{}=]\s*$|^\s*(?:return|import|if \(|for \()|\w+\(\w*\)\s*[;{]")


def sentences(text: str) -> Iterator[tuple[int, int, str]]:
    """Where each comment worth reading begins and ends, and its first sentence."""
    for found in COMMENT.finditer(text):
        sentence = first_sentence(QUOTES.sub("", QUOTES.sub("", found[0].strip())))
        if sentence and not NOT_WORTH.search(sentence) and not CODE_LIKE.search(sentence):
            yield found.start(), found.end(), sentence


def first(text: str) -> str:
    """The first sentence worth reading, or nothing."""
    return next((sentence for _, _, sentence in sentences(text)), "")
