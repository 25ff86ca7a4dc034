"""Docstring -> function retrieval on packages that are not in the corpus: MRR@10."""

import hashlib
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import static_python
import static_text
from static_archives import Source, sources
from static_text import Function, split_words

QUERIES = 160  # of each language: half to choose the variant by, half for the published figure
FUNCTIONS = 500  # of each language, the answers among them
CUTOFF = 10
FUSION = 60  # the customary constant of reciprocal rank fusion


@dataclass(frozen=True)
class Task:
    """Functions of all languages in one pile; query i is answered by function i."""

    functions: list[Function]
    asked: np.ndarray  # the functions whose documentation is asked for

    @property
    def queries(self) -> list[str]:
        """The documentation sentences."""
        return [self.functions[place].query for place in self.asked]

    @property
    def codes(self) -> list[str]:
        """What is searched."""
        return [function.code for function in self.functions]


def make(archives: Iterable[tuple[str, Path]]) -> Task:
    """The task, the same on every machine."""
    found: dict[str, dict[str, Function]] = {}
    for package, archive in archives:
        for source in sources(archive, package):
            for function in _functions(source):
                found.setdefault(function.language, {})[_key(function)] = function
    functions: list[Function] = []
    asked: list[int] = []
    for language in sorted(found):
        mine = [found[language][key] for key in sorted(found[language])]
        mine = _deduplicate(mine)[:FUNCTIONS]
        asked += range(len(functions), len(functions) + min(QUERIES, len(mine)))
        functions += mine
    return Task(functions, np.array(asked))


def _functions(source: Source) -> Iterable[Function]:
    if source.language == "python":
        return static_python.functions(source.text)
    return static_text.functions(source.language, source.text)


def _key(function: Function) -> str:
    return hashlib.sha256(" ".join(split_words(function.code)).encode()).hexdigest()


def _deduplicate(functions: list[Function]) -> list[Function]:
    """One function per sentence: an overload's documentation has several right answers."""
    return list(
        {" ".join(split_words(function.query)): function for function in functions}.values()
    )


def ranks(scores: np.ndarray, task: Task) -> np.ndarray:
    """The place of the right answer for each query, 1 being the first; ties count against us."""
    right = scores[np.arange(len(task.asked)), task.asked]
    return (scores >= right[:, None]).sum(axis=1)


def mrr(places: np.ndarray) -> float:
    """Mean reciprocal rank, nothing for answers beyond the tenth."""
    return float(np.where(places <= CUTOFF, 1 / places, 0).mean())


def fuse(*scores: np.ndarray) -> np.ndarray:
    """Reciprocal rank fusion."""
    ranked = [1 / (FUSION + 1 + (-one).argsort(axis=1).argsort(axis=1)) for one in scores]
    return np.sum(ranked, axis=0)


def bm25(
    queries: Sequence[str], codes: Sequence[str], k: float = 1.2, b: float = 0.75
) -> np.ndarray:
    """Plain BM25 over the words inside identifiers."""
    counts = [Counter(split_words(code)) for code in codes]
    lengths = np.array([sum(count.values()) for count in counts])
    soft = k * (1 - b + b * lengths / lengths.mean())
    postings: dict[str, list[tuple[int, int]]] = {}
    for place, count in enumerate(counts):
        for word, times in count.items():
            postings.setdefault(word, []).append((place, times))
    scores = np.zeros((len(queries), len(codes)), np.float32)
    for row, query in enumerate(queries):
        for word in set(split_words(query)):
            where = postings.get(word, [])
            rarity = math.log(1 + (len(codes) - len(where) + 0.5) / (len(where) + 0.5))
            for place, times in where:
                scores[row, place] += rarity * times * (k + 1) / (times + soft[place])
    return scores


def by_language(task: Task, places: np.ndarray) -> dict[str, float]:
    """The figure for each language apart; queries with place 0 are left out."""
    languages = np.array([task.functions[place].language for place in task.asked])
    return {
        str(name): mrr(places[(languages == name) & (places > 0)]) for name in np.unique(languages)
    }
