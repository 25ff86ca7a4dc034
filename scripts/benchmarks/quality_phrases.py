"""Draw comments and messages from repositories and see whether the place that holds them is first.

A text is taken if it stands in one place alone. The placeholders of a message are filled with
values, as in a message that somebody pastes.
"""

import argparse
import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kernel_searchers import Static
from verdicts import verdict_at_least

PER_REPOSITORY = 14
MIN_WORDS = 5
HITS = 10
TARGET = 0.98

_CODE_SUFFIX_TEXT = (
    ".py .go .rs .js .ts .java .kt .c .cc .h .hs .php .rb .lua .swift .cs .scala .ex .exs .zig .sh"
    " .cpp"
)
_CODE_SUFFIXES = frozenset(_CODE_SUFFIX_TEXT.split())
_NO_CODE = re.compile(r"test|spec|example|bench", re.IGNORECASE)
_MESSAGE = re.compile(r'"([^"\\\n]{25,120})"')
_COMMENT = re.compile(r"(?://|#|--|;;)\s+([A-Za-z][^\n]{25,120})")
_PLACEHOLDER = re.compile(r"%[sdrv]|\$?\{[^}]*\}")
_VALUES = ("foo", "42", "some/where", "bar.py")


class Phrase(NamedTuple):
    """A text, and the one line that holds it."""

    kind: str
    path: str
    line: int
    query: str


def print_phrases(options: argparse.Namespace) -> bool:
    """Print how often the place is first; whether that meets the target."""
    dice, searcher = random.Random(7), Static()  # noqa: S311 - repeatable on purpose
    places: dict[str, list[int]] = defaultdict(list)
    for row in json.loads((options.bench / "repos.json").read_bytes()):
        root = options.repos / row["name"] / row["root"]
        if options.only and row["name"] not in options.only:
            continue
        phrases = list(_draw_phrases(root, dice))
        handle = searcher.index(root)
        for phrase in phrases:
            hits = searcher.search(handle, phrase.query, HITS)
            found = (
                place
                for place, (path, begin, end) in enumerate(hits, 1)
                if path == phrase.path and begin <= phrase.line <= end
            )
            places[phrase.kind].append(next(found, 0))
        searcher.close(handle)
    print("| text | drawn | its place is first | among ten |\n|---|---|---|---|")
    for kind, ranks in places.items():
        first, any_rank = ranks.count(1) / len(ranks), sum(map(bool, ranks)) / len(ranks)
        print(f"| {kind} | {len(ranks)} | {first:.3f} | {any_rank:.3f} |")
    every = [rank for ranks in places.values() for rank in ranks]
    return verdict_at_least("its place is first", every.count(1) / len(every), TARGET)


def _draw_phrases(root: Path, dice: random.Random) -> Iterator[Phrase]:
    texts = {
        path: path.read_text(errors="replace")
        for path in sorted(root.rglob("*"))
        if path.suffix in _CODE_SUFFIXES
        and path.is_file()
        and not _NO_CODE.search(str(path.relative_to(root)))
    }
    found = [
        (kind, path, match)
        for path, text in texts.items()
        for kind, pattern in (("message", _MESSAGE), ("comment", _COMMENT))
        for match in pattern.finditer(text)
    ]
    dice.shuffle(found)
    count = 0
    for kind, path, match in found:
        text = match[1].strip()
        query = (
            _PLACEHOLDER.sub(lambda _: dice.choice(_VALUES), text) if kind == "message" else text
        )
        words = re.findall("[A-Za-z]{2,}", _PLACEHOLDER.sub(" ", text))
        is_usable = len(set(words)) >= MIN_WORDS and query.isascii() and '"' not in query
        if is_usable and sum(each.count(text) for each in texts.values()) == 1:
            line = texts[path].count("\n", 0, match.start()) + 1
            yield Phrase(kind, path.relative_to(root).as_posix(), line, query)
            count += 1
            if count == PER_REPOSITORY:
                return
