"""The recipe in the tools' environment: ``static_recipe.py WORK FOLDER``; see static_build.py.

Every step leaves its result in WORK and is skipped when that is there.
"""

import json
import sys
from pathlib import Path

import numpy as np
import static_chinese
import static_corpus
import static_evaluate
import static_export
import static_packages
import static_reference
import static_samples
import static_variants
import static_vectors
import static_vocabulary
from manifest import MODELS
from static_evaluate import Task
from static_fetch import fetch, parse
from static_teacher import Teacher
from static_variants import Lessons
from static_vocabulary import Vocabulary
from tokenizers import Tokenizer

TEACHER = MODELS / "granite-embedding-30m-english"
CHUNK_TOKENS = 160  # what the teacher reads of a chunk
FUNCTION_TOKENS = 512  # what it reads of a function in the test: all it can
SPEED_TEXTS = 4000


def main(work: Path, folder: Path) -> None:
    """Everything, from the packages to the folder and its figures."""
    work.mkdir(parents=True, exist_ok=True)
    corpus = static_corpus.gather(_archives(static_packages.CORPUS, work), work / "corpus.jsonl")
    (unihan,) = (path for _, path in _archives(static_packages.CHARACTERS, work))
    characters = static_chinese.read(unihan)
    vocabulary = _vocabulary(
        work, corpus, [*characters.definitions, *static_chinese.other_letters()]
    )
    tokenizer, rows = static_vocabulary.tokenizer(vocabulary, characters.simplified)
    texts = _samples(work, corpus)
    lessons = _lessons(work, vocabulary, characters.definitions, texts, (tokenizer, rows))

    table = static_variants.table(lessons, static_variants.KEPT)
    nothing = np.zeros((1, table.shape[1]), np.float32)
    static_export.write(folder, np.concatenate([nothing, table]), rows, tokenizer)
    static_reference.write_canonical(folder)

    task = static_evaluate.make(_archives(static_packages.TEST, work))
    _print_table(work, task, lessons, (tokenizer, rows), folder)
    for name, figure in static_reference.speed(folder, texts[0][:SPEED_TEXTS]).items():
        print(f"{name:24} {figure:10.0f}" + ("" if name.startswith("tokens") else " texts/cpu-s"))


def _archives(lines: str, work: Path) -> list[tuple[str, Path]]:
    return [(package.file, fetch(package, work)) for package in parse(lines)]


def _vocabulary(work: Path, corpus: Path, characters: list[str]) -> Vocabulary:
    path = work / "vocabulary.json"
    if not path.exists():
        static_vocabulary.choose(static_corpus.read(corpus), characters).save(path)
    return static_vocabulary.load(path)


def _samples(work: Path, corpus: Path) -> tuple[list[str], list[str]]:
    path = work / "samples.json"
    if not path.exists():
        path.write_text(json.dumps(static_samples.draw(corpus)), encoding="utf-8")
    chunks, sentences = json.loads(path.read_text(encoding="utf-8"))
    return chunks, sentences


def _lessons(
    work: Path,
    vocabulary: Vocabulary,
    definitions: dict[str, str],
    texts: tuple[list[str], list[str]],
    student: tuple[Tokenizer, np.ndarray],
) -> Lessons:
    teacher = Teacher(TEACHER, CHUNK_TOKENS)
    rows = _center(teacher.embed(vocabulary.rows, work / "bare.npy"))
    meanings = teacher.embed(list(definitions.values()), work / "definitions.npy")
    place = {word: number for number, word in enumerate(vocabulary.rows)}
    rows[[place[character] for character in definitions]] = _center(meanings)
    chunks, sentences = texts
    return Lessons(
        shares=vocabulary.shares,
        rows=rows,
        chunks=teacher.embed(chunks, work / "chunks.npy"),
        sentences=teacher.embed(sentences, work / "sentences.npy"),
        counts=static_vectors.bags([*chunks, *sentences], *student, len(vocabulary.rows) + 1),
    )


def _center(vectors: np.ndarray) -> np.ndarray:
    return vectors - vectors.mean(axis=0)


def _print_table(
    work: Path,
    task: Task,
    lessons: Lessons,
    student: tuple[Tokenizer, np.ndarray],
    folder: Path,
) -> None:
    """MRR@10 on the half to choose by, and on the half that was not looked at."""
    words = static_evaluate.bm25(task.queries, task.codes)
    spaced = [static_samples.SPACES.sub(" ", code) for code in task.codes]
    teacher = Teacher(TEACHER, FUNCTION_TOKENS)
    asked = teacher.embed(task.queries, work / "test-queries.npy")
    scores = {
        "BM25, identifiers split": words,
        "teacher": asked @ teacher.embed(spaced, work / "test-functions.npy").T,
    }
    sides = [
        static_vectors.bags(texts, *student, len(lessons.shares) + 1)
        for texts in (task.queries, task.codes)
    ]
    for variant in static_variants.COMPARED:
        table = static_variants.table(lessons, variant)
        query, code = (
            static_vectors.unit(static_variants.damp_counts(side, variant.power) @ table)
            for side in sides
        )
        scores[variant.name] = query @ code.T
    model = static_reference.Folder(folder)
    scores["the folder, int8"] = model.embed(task.queries) @ model.embed(task.codes).T
    print(f"{len(task.asked):,} queries, {len(task.functions):,} functions; MRR@10")
    print(f"{'':36} choose  test   with BM25: choose  test   by language (test)")
    for name, score in scores.items():
        print(f"{name:36} {_figures(task, score, words)}", flush=True)


def _figures(task: Task, score: np.ndarray, words: np.ndarray) -> str:
    seen = np.arange(len(task.asked)) % 2 == 0
    alone = static_evaluate.ranks(score, task)
    fused = static_evaluate.ranks(static_evaluate.fuse(score, words), task)
    halves = [static_evaluate.mrr(one[half]) for one in (alone, fused) for half in (seen, ~seen)]
    languages = static_evaluate.by_language(task, np.where(seen, 0, alone))
    shown = " ".join(f"{name} {figure:.2f}" for name, figure in languages.items())
    return (
        f" {halves[0]:.3f}  {halves[1]:.3f}             {halves[2]:.3f}  {halves[3]:.3f}   {shown}"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
