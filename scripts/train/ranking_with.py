"""The product's whole ranking with static models: ``ranking_with.py REPOS FOLDER [FOLDER ...]``.

Prints NDCG@10 at the default settings, with accuracy asked for, and with Chinese untranslated:
English, its harder quarter, and Chinese by whether the query has a Latin word, beside the same
queries in English. Indexes are made
once and kept in ``CODEKERNEL_BENCH_CACHE``, which must be set; a model then takes a minute.
"""

import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from types import SimpleNamespace
from typing import Any

import beside
import numpy as np
import quality_replay
from bags import table_of
from chinese_rows import Static
from codekernel.domain.index import build_embedding_text
from codekernel.search.pipeline import Searcher
from codekernel.storage.catalog.catalog import Catalog
from kernel_searchers import Static as Indexed
from quality_settings import ABLATIONS, Setting, apply_setting
from tokenizers import Tokenizer

BENCH = beside.ROOT.parent / "shared" / "bench"
MAX_TOKENS = 2048  # tokens, as the model reads
HITS = 10
ACCURACY = "accuracy"
MODES: dict[str, Setting] = {
    "default": (),
    ACCURACY: (),
    "untranslated": ABLATIONS["all Chinese words"],
}
LATIN = re.compile("[A-Za-z]{2,}")

Found = dict[tuple[str, str, str], dict[str, list[float]]]


class Meaning:
    """A repository's chunks by one model: what stands in an arm's place."""

    name = "model"
    is_contextual = False

    def __init__(self, catalog: Catalog, model: Static) -> None:
        self._model = model
        texts = dict(_texts(catalog))
        self._keys = list(texts)
        self._vectors = self._embedded(list(texts.values()))

    def search(self, query: str, k: int) -> list[tuple[int, float]]:
        """Keys of the nearest texts and their cosines."""
        near = self._vectors @ self._embedded([query])[0]
        best = np.argsort(-near)[:k]
        return [(self._keys[place], float(near[place])) for place in best]

    def is_missing(self, *_: object) -> bool:
        """Nothing is missing."""
        return False

    def _embedded(self, texts: Sequence[str]) -> np.ndarray:
        sums = self._model.sums(texts, MAX_TOKENS)
        return sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)


def _texts(catalog: Catalog) -> Iterator[tuple[int, str]]:
    for known in catalog.list_files().values():
        chunks = catalog.list_chunks(known.id)
        contents = catalog.read_chunk_texts([chunk.id for chunk in chunks])
        for chunk in chunks:
            if chunk.id in contents:
                yield chunk.text_hash, build_embedding_text(chunk.symbols, contents[chunk.id])


def opened(folder: Path) -> Static:
    """The model of a folder."""
    table, rows = table_of(folder)
    return Static(Tokenizer.from_file(str(folder / "tokenizer.json")), rows, table)


def _groups(score: Any, task: Any, chinese: dict[str, str]) -> Iterator[str]:
    """Where a query counts; ``chinese`` has the Chinese form of those that have one."""
    is_chinese = task.query != task.words
    form = task.query if is_chinese else chinese.get(task.query, "")
    if is_chinese:
        yield "Chinese"
    else:
        yield "English"
        if not score.named_in_query(task):
            yield "harder"
    if form:
        latin = "with Latin" if LATIN.search(form) else "without"
        yield f"{'Chinese' if is_chinese else 'English'} {latin}"


def main(repos: Path, folders: list[Path]) -> None:
    """Ask every question of every model, and print the means over repositories."""
    models = {folder.name: opened(folder) for folder in folders}
    score = quality_replay.load_score_module(BENCH)
    roots, english = score.load(BENCH, repos, [], chinese=False)
    _, translated = score.load(BENCH, repos, [], chinese=True)
    found: Found = defaultdict(lambda: defaultdict(list))
    searcher = Indexed()
    for repo, root in roots.items():
        handle = searcher.index(root)
        store = quality_replay.CachedStore(handle[0].store)
        tasks = [task for task in (*english, *translated) if task.repo == repo]
        forms = {task.words: task.query for task in translated if task.repo == repo}
        for name, model in models.items():
            arm = quality_replay.CachedCalls(Meaning(handle[0].store.catalog, model))
            ranking = Searcher(root, SimpleNamespace(store=store, vector_indexes=(arm,)))
            for mode, setting in MODES.items():
                with apply_setting(setting):
                    for task in tasks:
                        answered = ranking.search(task.query, HITS, accuracy=mode == ACCURACY)
                        hits = [quality_replay.build_hit(score, hit.chunk) for hit in answered]
                        value = score.score(hits, hits, task)["ndcg10"]
                        for group in _groups(score, task, forms):
                            found[name, mode, group][repo].append(value)
        searcher.close(handle)
    for (name, mode, group), by_repo in found.items():
        # The harder quarter is too small for a mean of each repository.
        every = [value for values in by_repo.values() for value in values]
        mean = fmean(every if group == "harder" else map(fmean, by_repo.values()))
        print(f"{name:24} {mode:11} {group:20} {mean:.4f}  {len(every)} queries")


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(each) for each in sys.argv[2:]])
