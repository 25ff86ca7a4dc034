"""The short forms of words in code: ``word_forms.py WORK``; WORK/files.jsonl to a printed table.

A short form is a part of a name whose word stands in the comment beside it, oftener than chance and
in many packages: args beside "arguments". Both are stems of the lexical index. Each line that is
printed is a word and its short forms: kernel/codekernel/search/word_forms.txt.
"""

import json
import re
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path

import beside  # noqa: F401 - makes the next ones importable
import comments
from codekernel.domain.lexical_tokenizer import tokenize
from codekernel.storage.lexical_documents import stem_word

CHARS_BEFORE, CHARS_AFTER = 120, 200  # of code around a comment: a docstring follows its function
MIN_COUNT = 25
MIN_PACKAGES = 8
MIN_LIFT = 3.0
MIN_SHARE = 0.015  # of the places with the short form
MIN_LEAD = 1.5  # over the second word of a short form
MIN_SHORT, MIN_LONG = 2, 4
MIN_DERIVED = 5  # letters that two words of one family share

_WORD = re.compile(r"[a-z]{2,24}")
_VOWELS = re.compile("[aeiou]")


@dataclass
class Counts:
    """How often stems stand in comments and in the code beside them."""

    total: int = 0
    named: Counter[str] = field(default_factory=Counter)
    said: Counter[str] = field(default_factory=Counter)
    pairs: Counter[tuple[str, str]] = field(default_factory=Counter)
    packages: defaultdict[tuple[str, str], set[str]] = field(
        default_factory=lambda: defaultdict(set)
    )


def main(work: Path) -> None:
    """Print the table."""
    counts = Counts()
    with (work / "files.jsonl").open(encoding="utf-8") as files:
        for line in files:
            package, _, _, text = json.loads(line)
            _count_pairs(package, text, counts)
    table: defaultdict[str, list[str]] = defaultdict(list)
    for short, words in _select_pairs(counts).items():
        (best, word), *others = sorted(words, reverse=True)
        if not others or best >= MIN_LEAD * others[0][0]:
            table[word].append(short)
    for word, shorts in sorted(table.items()):
        print(f"{word}: {' '.join(sorted(shorts))}")


def _count_pairs(package: str, text: str, counts: Counts) -> None:
    for begin, end, sentence in comments.sentences(text):
        before, after = text[max(0, begin - CHARS_BEFORE) : begin], text[end : end + CHARS_AFTER]
        said = _find_stems(sentence)
        # The words at the edges may be cut.
        named = _find_stems(f"{before.partition(' ')[2]} {after.rpartition(' ')[0]}")
        counts.total += 1
        counts.named.update(named)
        counts.said.update(said)
        for short in named - said:
            for word in said:
                if word[0] == short[0] and is_short_form(short, word):
                    counts.pairs[short, word] += 1
                    counts.packages[short, word].add(package)


def _select_pairs(counts: Counts) -> dict[str, list[tuple[float, str]]]:
    """Return the words of each short form, each with how surely it is one."""
    found: defaultdict[str, list[tuple[float, str]]] = defaultdict(list)
    for (short, word), count in counts.pairs.items():
        share = count / counts.named[short]
        lift = share * counts.total / counts.said[word]
        is_common = count >= MIN_COUNT and len(counts.packages[short, word]) >= MIN_PACKAGES
        is_sure = is_common and lift >= MIN_LIFT and share >= MIN_SHARE
        if is_sure and not _is_compound(short, word, counts):
            found[short].append((share * lift, word))
    return found


def _is_compound(short: str, word: str, counts: Counts) -> bool:
    """Return whether the word is made of two: a time and a timeout are two things."""
    rest = word.removeprefix(short)
    is_word = max(counts.said[rest], counts.said[f"{rest}e"]) >= MIN_COUNT
    return len(rest) < len(word) and is_word and counts.said[short] >= counts.said[word]


def is_short_form(short: str, word: str) -> bool:
    """Return whether the letters of one stand in the other: a beginning, or its consonants."""
    if not MIN_SHORT <= len(short) < len(word) or len(word) < MIN_LONG:
        return False
    if word.startswith(short):
        return len(short) >= MIN_DERIVED or len(word) - len(short) > 1
    letters = iter(word)
    is_within = all(letter in letters for letter in short)
    return is_within and not _VOWELS.search(short[1:])


def _find_stems(text: str) -> set[str]:
    words = {word for word in tokenize(text).split() if _WORD.fullmatch(word)}
    return {stem_word(word) for word in words}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
