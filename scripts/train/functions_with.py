"""Documentation sentence -> function with static models: ``functions_with.py WORK FOLDER ...``.

The packages are those of static_packages.TEST, none of which is in the corpus. Prints MRR@10 alone
and fused with BM25, by language, also with the vectors cut short; and texts per second of one core.
"""

import sys
from pathlib import Path

import beside  # noqa: F401 - makes the next ones importable
import numpy as np
import static_evaluate
import static_packages
import static_reference
from static_fetch import fetch, parse
from static_vectors import unit

DIMENSIONS = (256, 128, 64)
SPEED_TEXTS = 3000


def main(work: Path, folders: list[Path]) -> None:
    """Ask every query of every model."""
    archives = [(package.file, fetch(package, work)) for package in parse(static_packages.TEST)]
    task = static_evaluate.make(archives)
    words = static_evaluate.bm25(task.queries, task.codes)
    print(f"{len(task.asked):,} queries, {len(task.functions):,} functions; MRR@10")
    print(f"BM25 {static_evaluate.mrr(static_evaluate.ranks(words, task)):.3f}")
    for folder in folders:
        model = static_reference.Folder(folder)
        queries, codes = model.embed(task.queries), model.embed(task.codes)
        for size in DIMENSIONS:
            score = unit(queries[:, :size]) @ unit(codes[:, :size]).T
            _print(f"{folder.name} {size} d", score, words, task)
        speed = static_reference.speed(folder, task.codes[:SPEED_TEXTS])
        print({name: round(figure) for name, figure in speed.items()}, flush=True)


def _print(name: str, score: np.ndarray, words: np.ndarray, task: static_evaluate.Task) -> None:
    alone = static_evaluate.ranks(score, task)
    fused = static_evaluate.ranks(static_evaluate.fuse(score, words), task)
    by_language = static_evaluate.by_language(task, alone)
    shown = " ".join(f"{language} {figure:.2f}" for language, figure in by_language.items())
    print(
        f"{name:30} alone {static_evaluate.mrr(alone):.3f}"
        f"  with BM25 {static_evaluate.mrr(fused):.3f}  {shown}",
        flush=True,
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), [Path(each) for each in sys.argv[2:]])
