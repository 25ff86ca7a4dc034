"""The product's whole ranking with other tables: ``ranking_with.py FOLDER REPOS TABLE.npy ...``.

Indexes are made once and kept in ``CODEKERNEL_BENCH_CACHE``, which must be set; a table then takes
half a minute for all repositories of the benchmark. FOLDER is the model whose tokenizer and rows
the tables have; ``-`` instead of a file is that model itself.
"""

import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from types import SimpleNamespace

import beside
import numpy as np
import quality_replay
from bags import Bags, bags, table_of
from kernel_searchers import Static
from quality_settings import Change, Setting, in_force
from tokenizers import Tokenizer

from kernel.domain.chunk import embedded_text
from kernel.search.searcher import Searcher

BENCH = beside.ROOT.parent / "shared" / "bench"
SHARES = (0.3, 0.4, 0.5)
LONGEST = 2048  # tokens, as the model reads
HITS = 10


class Meaning:
    """A repository's chunks by another table: what stands in an arm's place."""

    def __init__(
        self, store: object, table: np.ndarray, tokens: tuple[Tokenizer, np.ndarray]
    ) -> None:
        self._table, self._tokens = table, tokens
        texts = dict(_texts(store.catalogue))
        self._keys = list(texts)
        self._vectors = self._embedded(list(texts.values()))

    def search(self, query: str, k: int) -> list[tuple[int, float]]:
        """Keys of the nearest texts and their cosines."""
        near = self._vectors @ self._embedded([query])[0]
        best = np.argsort(-near)[:k]
        return [(self._keys[place], float(near[place])) for place in best]

    def lacks(self, *_: object) -> bool:
        """Nothing is missing."""
        return False

    def _embedded(self, texts: list[str]) -> np.ndarray:
        made: Bags = bags(texts, *self._tokens, LONGEST)
        sums = np.zeros((len(texts), self._table.shape[1]), np.float32)
        owners = np.repeat(np.arange(len(texts)), np.diff(made.starts))
        np.add.at(sums, owners, self._table[made.rows] * made.times[:, None])
        return sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-9)


def _texts(catalogue: object) -> Iterator[tuple[int, str]]:
    for known in catalogue.files().values():
        chunks = catalogue.chunks_of(known.id)
        contents = catalogue.contents([chunk.id for chunk in chunks])
        for chunk in chunks:
            if chunk.id in contents:
                yield chunk.key, embedded_text(chunk.chunk.symbols, contents[chunk.id])


def settings() -> dict[str, Setting]:
    """The shares of meaning in prose that are tried."""
    return {
        f"share {share}": (Change("fusion", "SHARE_OF_MEANING", share, "PROSE"),)
        for share in SHARES
    }


def main(folder: Path, repos: Path, files: list[str]) -> None:
    """Print NDCG@10 overall and of the harder quarter for each table and share."""
    start, rows = table_of(folder)
    tables = {name: start if name == "-" else np.load(name) for name in files}
    tokens = (Tokenizer.from_file(str(folder / "tokenizer.json")), rows)
    score = quality_replay.score_module(BENCH)
    roots, tasks = score.load(BENCH, repos, [], chinese=False)
    found: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    hard: dict[tuple[str, str], list[float]] = defaultdict(list)
    searcher = Static()
    for repo, root in roots.items():
        handle = searcher.index(root)
        store = quality_replay._Store(handle[0].store)  # noqa: SLF001 - it remembers answers
        for name, table in tables.items():
            arm = quality_replay.Remembering(Meaning(handle[0].store, table, tokens))
            ranking = Searcher(root, SimpleNamespace(store=store, arms=(arm,)))
            for label, setting in settings().items():
                with in_force(setting):
                    for task in (one for one in tasks if one.repo == repo):
                        hits = [
                            score.Hit(
                                hit.chunk.path,
                                hit.chunk.chunk.begin_line + 1,
                                hit.chunk.chunk.end_line,
                            )
                            for hit in ranking.search(task.query, HITS)
                        ]
                        value = score.score(hits, hits, task)["ndcg10"]
                        found[name, label][repo].append(value)
                        if not score.named_in_query(task):
                            hard[name, label].append(value)
        searcher.close(handle)
    for key, by_repo in found.items():
        overall = fmean(map(fmean, by_repo.values()))
        print(f"{key[0]:24} {key[1]:12} {overall:.4f}  hard {fmean(hard[key]):.4f}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:])
