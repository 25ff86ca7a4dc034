"""What Chinese words of software mean in English: ``chinese_lexicon.py WORK --out FILE``.

Reads WORK/chinese_pairs.tsv (chinese_pairs.py). jieba cuts Chinese into words, which IBM's Model 1
translates in both directions. Words that stand side by side become an entry of their own if they
mean more together than each alone. Meanings of one entry that stand together in English are said
together ("connection pool"), others are alternatives ("argument", "parameter").
"""

import argparse
import hashlib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import combinations
from pathlib import Path

import beside  # noqa: F401 - makes the next ones importable
import jieba
import numpy as np
from codekernel.domain.lexical_tokenizer import find_subword_spans, split_words
from codekernel.search.query_parser import STOPWORDS
from codekernel.storage.lexical_documents import stem_word
from numpy.typing import NDArray

ITERATIONS = 6
MAX_WORDS = 60  # of a pair, on either side: what is longer says little about each of its words
MIN_COUNT = 4
HELD_OUT = 50  # one pair in so many is only for the check at the end

MAX_PHRASE_CHARS, MIN_PHRASE_COUNT = 6, 10
MIN_PHRASE_INFORMATION = 1.5  # pointwise mutual information of its words

MIN_POSTERIOR = 0.02  # of an alignment that is counted
MIN_EVIDENCE = 3.0  # expected alignments
MIN_SHARE = 0.1  # of a meaning, of the places of a word
MIN_WHOLE_SHARE = 0.3  # the same for what is no likely origin of the English word
MIN_BACK = 0.003  # how likely the English word comes from this Chinese one
MIN_LIFT = 5.0
MIN_CHARACTER_SHARE = 0.25  # a single character means too many things
MIN_RELATIVE_SHARE = 0.15  # of the surest meaning
MIN_TOGETHER = 0.4  # of the places of the rarer meaning
MAX_ALTERNATIVES, MAX_PARTS = 3, 3
HEADER = (
    "# Counted in public translations, which scripts/train/chinese_pairs.py names with licences.",
    "# The commonest word first; then what is said together in English, with alternatives.",
)
EMPTY_WORDS = 1_500  # which mean nothing in code, but show where others end

_HAN_RUN = re.compile("[\u4e00-\u9fff]+")

Numbers = NDArray[np.int64]
Chances = NDArray[np.float64]
# The English words of one entry: parts that are said together, each with its alternatives.
Meaning = list[list[str]]
# A word, or several side by side, by their numbers.
Entry = tuple[int, ...]


@dataclass
class Corpus:
    """Pairs as numbers of words; 0 is no word."""

    chinese: list[str]
    english: list[str]
    # Chinese words in order, with 0 where a run ends; English words, each once.
    pairs: list[tuple[list[int], list[int]]] = field(default_factory=list)
    held_out: list[tuple[list[int], list[int]]] = field(default_factory=list)


@dataclass
class Table:
    """How likely a word comes from one of the other language, for those that stand together."""

    chinese: Numbers
    english: Numbers
    chances: Chances
    # How often it does, as the chances have it.
    counts: Chances

    def by_pair(self, size: int) -> dict[int, float]:
        """Return the chances by number of the Chinese word times size plus the English one's."""
        pairs = self.chinese * size + self.english
        return dict(zip(pairs.tolist(), self.chances.tolist(), strict=True))


def main() -> None:
    """Learn, write and check."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    corpus = read_corpus(options.work / "chinese_pairs.tsv")
    print(f"{len(corpus.pairs)} pairs", flush=True)
    print(f"{len(corpus.chinese)} Chinese and {len(corpus.english)} English words", flush=True)
    forward = train_model(corpus, is_reverse=False)
    backward = train_model(corpus, is_reverse=True)
    entries, counts = build_entries(corpus, forward, backward)
    write_lexicon(options.out, entries, counts)
    check(corpus, entries)


def read_corpus(file: Path) -> Corpus:
    """Cut and number the words of every pair."""
    surfaces: defaultdict[str, Counter[str]] = defaultdict(Counter)
    texts: list[tuple[list[str], list[str], bool]] = []
    with file.open(encoding="utf-8") as rows:
        for row in rows:
            _, english, chinese = row.rstrip("\n").split("\t")
            words = cut_chinese(chinese)
            same = set(find_english(chinese))
            stems = []
            for word in find_english(english):
                if word not in same and word not in STOPWORDS:
                    stems.append(stem(word))
                    surfaces[stems[-1]][word] += 1
            if 0 < len(words) <= MAX_WORDS and 0 < len(stems) <= MAX_WORDS:
                is_held_out = (
                    hashlib.sha1(english.encode(), usedforsecurity=False).digest()[0] % HELD_OUT
                    == 0
                )
                texts.append((words, list(dict.fromkeys(stems)), is_held_out))
    forms = _list_common(text[0] for text in texts)
    roots = _list_common(text[1] for text in texts)
    chinese_numbers = {word: number for number, word in enumerate(forms)}
    english_numbers = {word: number for number, word in enumerate(roots)}
    corpus = Corpus(forms, [surfaces[it].most_common(1)[0][0] if it else "" for it in roots])
    for words, stems, is_held_out in texts:
        ours = [chinese_numbers.get(word, 0) for word in words]
        theirs = [english_numbers[it] for it in stems if it in english_numbers]
        if any(ours) and theirs:
            (corpus.held_out if is_held_out else corpus.pairs).append((ours, theirs))
    return corpus


def _list_common(texts: Iterable[Sequence[str]]) -> list[str]:
    counts = Counter(word for text in texts for word in set(text) if word)
    kept = sorted((-count, word) for word, count in counts.items() if count >= MIN_COUNT)
    return ["", *(word for _, word in kept)]


def cut_chinese(text: str) -> list[str]:
    """Return the Chinese words, and an empty one after each run."""
    return [word for run in _HAN_RUN.findall(text) for word in (*jieba.lcut(run), "")]


def find_english(text: str) -> list[str]:
    """Return the words and parts of names, in small letters."""
    words = (word for word in split_words(text) if word.isascii())
    parts = (word[begin:end].lower() for word in words for begin, end in find_subword_spans(word))
    return [part for part in parts if part.isalpha() and len(part) > 1]


@cache
def stem(word: str) -> str:
    """Return the stem under which the index keeps a word."""
    return stem_word(word)


def train_model(corpus: Corpus, *, is_reverse: bool) -> Table:
    """Learn which word comes from which, or from none (number 0)."""
    left, right, text = [], [], []
    for number, (chinese, english) in enumerate(corpus.pairs):
        origins = list(dict.fromkeys([*filter(None, chinese)]))
        sides = (english, origins) if is_reverse else (origins, english)
        left.append(np.repeat(np.array([0, *sides[0]], np.int64), len(sides[1])))
        right.append(np.tile(np.array(sides[1], np.int64), len(sides[0]) + 1))
        text.append(np.full(len(right[-1]), number, np.int64))
    origin, word = np.concatenate(left), np.concatenate(right)
    size = max(len(corpus.chinese), len(corpus.english))
    places, place = np.unique(np.concatenate(text) * size + word, return_inverse=True)
    pairs, pair = np.unique(origin * size + word, return_inverse=True)
    place, pair = place.astype(np.int32), pair.astype(np.int32)
    origins, words = pairs // size, pairs % size
    chances: Chances = np.ones(len(pairs))
    counts: Chances = chances
    for _ in range(ITERATIONS):
        given = chances[pair]
        given /= np.bincount(place, given, len(places))[place]
        counts = np.bincount(pair, given, len(pairs)).astype(np.float64)
        chances = counts / np.bincount(origins, counts)[origins]
    if is_reverse:
        return Table(words, origins, chances, counts)
    return Table(origins, words, chances, counts)


def build_entries(
    corpus: Corpus, forward: Table, backward: Table
) -> tuple[dict[str, Meaning], Counter[str]]:
    """Return the meanings of words and phrases, and how often each stands in the texts."""
    counts: Counter[Entry] = Counter()
    for chinese, _ in corpus.pairs:
        counts.update({(it,) for it in chinese if it})
    phrases = find_phrases(corpus, counts)
    counts.update(phrases)
    meanings = select_meanings(corpus, align(corpus, forward, phrases), counts, backward)
    together = count_together(corpus, meanings, phrases)
    entries: dict[str, Meaning] = {}
    texts: Counter[str] = Counter()
    for entry, count in counts.items():  # words before phrases
        text = "".join(corpus.chinese[it] for it in entry)
        if len(entry) > 1 and (is_sum(entry, meanings) or entries.get(text)):
            continue
        texts[text] += count
        entries[text] = part_meaning(entry, meanings[entry], together, corpus)
    return entries, texts


def select_meanings(
    corpus: Corpus,
    expected: Mapping[Entry, Mapping[int, float]],
    counts: Mapping[Entry, int],
    backward: Table,
) -> dict[Entry, dict[int, float]]:
    """Return what each entry means, the surest first, by the share of its places."""
    size, total = len(corpus.english), len(corpus.pairs)
    back = backward.by_pair(size)
    english_counts = Counter(word for _, english in corpus.pairs for word in english)
    found: dict[Entry, dict[int, float]] = {entry: {} for entry in counts}
    for entry, words in expected.items():
        is_character = len(entry) == 1 and len(corpus.chinese[entry[0]]) == 1
        for word, count in words.items():
            share = count / counts[entry]
            is_likely = len(entry) == 1 and back.get(entry[0] * size + word, 0.0) >= MIN_BACK
            floor = MIN_SHARE if is_likely else MIN_WHOLE_SHARE
            floor = MIN_CHARACTER_SHARE if is_character else floor
            lift = share * total / english_counts[word]
            if count >= MIN_EVIDENCE and share >= floor and lift >= MIN_LIFT:
                found[entry][word] = share
        floor = MIN_RELATIVE_SHARE * max(found[entry].values(), default=0.0)
        ordered = sorted(found[entry].items(), key=lambda it: (-it[1], it[0]))
        found[entry] = {word: share for word, share in ordered if share >= floor}
    return found


def find_phrases(corpus: Corpus, counts: Counter[Entry]) -> Counter[Entry]:
    """Count what stands side by side oftener than chance, two or three words."""
    found: Counter[Entry] = Counter()
    for chinese, _ in corpus.pairs:
        found.update(set(_list_neighbors(corpus, chinese)))
    total = len(corpus.pairs)
    kept: Counter[Entry] = Counter()
    for phrase, count in found.items():
        if count >= MIN_PHRASE_COUNT:
            chance = math.log(count / total) - sum(math.log(counts[it,] / total) for it in phrase)
            if chance >= MIN_PHRASE_INFORMATION * (len(phrase) - 1):
                kept[phrase] = count
    return kept


def _list_neighbors(corpus: Corpus, chinese: Sequence[int]) -> Iterator[Entry]:
    """Yield two or three words in a row, each of which stands nowhere else in the text."""
    # In "serialize and deserialize" the second word has nothing to do with the first one's origin.
    counts = Counter(chinese)
    lengths = [len(corpus.chinese[it]) if counts[it] == 1 else 0 for it in chinese]
    for begin in range(len(chinese)):
        for end in (begin + 2, begin + 3):
            is_whole = end <= len(chinese) and all(lengths[begin:end])
            if is_whole and sum(lengths[begin:end]) <= MAX_PHRASE_CHARS:
                yield tuple(chinese[begin:end])


def align(
    corpus: Corpus, forward: Table, phrases: Mapping[Entry, int]
) -> dict[Entry, dict[int, float]]:
    """Return how often each English word comes from each word or phrase."""
    size = len(corpus.english)
    chances = forward.by_pair(size)
    expected: dict[Entry, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    rows = (forward.chinese, forward.english, forward.counts)
    for origin, word, count in zip(*(it.tolist() for it in rows), strict=True):
        if origin and count >= MIN_EVIDENCE:
            expected[origin,][word] = count
    for chinese, english in corpus.pairs:
        asked = {it for it in _list_neighbors(corpus, chinese) if it in phrases}
        if not asked:
            continue
        words = [it for it in dict.fromkeys(chinese) if it]
        for word in english:
            each = {it: chances.get(it * size + word, 0.0) for it in words}
            whole = chances.get(word, 0.0) + sum(each.values())
            for entry in asked:
                chance = sum(map(each.__getitem__, set(entry)))
                if chance > MIN_POSTERIOR * whole:
                    expected[entry][word] += chance / whole
    return expected


def count_together(
    corpus: Corpus,
    meanings: Mapping[Entry, Mapping[int, float]],
    phrases: Mapping[Entry, int],
) -> Counter[tuple[Entry, int, int]]:
    """Count in how many pairs two meanings of one entry stand, and (twice the same) each."""
    together: Counter[tuple[Entry, int, int]] = Counter()
    several = {entry for entry, words in meanings.items() if len(words) > 1}
    for chinese, english in corpus.pairs:
        said = set(english)
        entries: set[Entry] = {(it,) for it in chinese if it}
        entries.update(it for it in _list_neighbors(corpus, chinese) if it in phrases)
        for entry in entries & several:
            here = sorted(said.intersection(meanings[entry]))
            together.update((entry, one, one) for one in here)
            together.update((entry, *two) for two in combinations(here, 2))
    return together


def is_sum(entry: Entry, meanings: Mapping[Entry, Mapping[int, float]]) -> bool:
    """Return whether a phrase means what the surest meanings of its words are, or nothing."""
    firsts = {next(iter(meanings[it,]), 0) for it in entry} - {0}
    return not meanings[entry] or set(meanings[entry]) == firsts


def part_meaning(
    entry: Entry,
    meanings: Mapping[int, float],
    together: Mapping[tuple[Entry, int, int], int],
    corpus: Corpus,
) -> Meaning:
    """Part what is said together; keep the surest alternatives of each part."""

    def are_together(one: int, other: int) -> bool:
        rarer = min(together[entry, one, one], together[entry, other, other])
        return together[entry, min(one, other), max(one, other)] >= MIN_TOGETHER * rarer

    parts: list[list[int]] = []
    for word in meanings:
        alternative = next(
            (part for part in parts if not any(are_together(it, word) for it in part)), None
        )
        if alternative is None:
            parts.append([word])
        else:
            alternative.append(word)
    return [
        [corpus.english[word] for word in part[:MAX_ALTERNATIVES]] for part in parts[:MAX_PARTS]
    ]


def write_lexicon(out: Path, entries: Mapping[str, Meaning], counts: Mapping[str, int]) -> None:
    """Write the entries, the most common first."""
    ordered = sorted(entries, key=lambda it: (-counts[it], it))
    empty = [form for form in ordered if not entries[form]]
    dropped = set(empty[EMPTY_WORDS:])
    rows = [
        " ".join((form, *map("/".join, entries[form]))) for form in ordered if form not in dropped
    ]
    out.write_text("".join(f"{row}\n" for row in (*HEADER, *rows)), "utf-8")
    print(f"{len(rows)} entries in {out.stat().st_size} bytes, {len(empty)} words mean nothing")


def check(corpus: Corpus, entries: Mapping[str, Meaning]) -> None:
    """Print how well the first two alternatives translate the words of pairs set aside."""
    found = said = wanted = 0
    for chinese, english in corpus.held_out:
        meanings = [entries.get(corpus.chinese[it], []) for it in chinese]
        words = {word for meaning in meanings for part in meaning for word in part[:2]}
        expected = {corpus.english[it] for it in english}
        found += len(words & expected)
        said += len(words)
        wanted += len(expected)
    print(f"of {len(corpus.held_out)} pairs set aside {found / wanted:.3f} of the English words")
    print(f"are translations, and {found / said:.3f} of the translations are there")


if __name__ == "__main__":
    main()
