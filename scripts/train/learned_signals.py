"""Dump what learned_ranking.py learns from: ``learned_signals.py OUT --lists WORK --bench B``.

WORK is the folder that ``ranking_lists.py`` filled; ``--bench`` and ``--repos`` add the questions
of the development repositories, of their histories, and of CoSQA. OUT gets one JSON line for each
question: where it comes from, the features of its candidate files in order, which of them answer
it, and the hits (file and score) that a learned order is judged by. ``--read`` adds the cosines
that ``accuracy`` has of the first ten files: of the best chunk, the second, and path and names;
mined questions are then a sample, so many of each kind in a folder.
"""

import argparse
import json
import random
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

from codekernel.domain.index import IndexedChunk, build_embedding_text
from codekernel.search.filters import NO_FILTERS
from codekernel.search.learned_ranking import MAX_LEARNED_FILES, list_file_signals
from codekernel.search.long_query import MIN_LONG_QUERY_WORDS
from codekernel.search.pipeline import CANDIDATES, rank_question, retrieve_question
from codekernel.search.query_parser import Query, parse_query
from codekernel.search.query_syntax import parse_search_expression
from codekernel.search.ranking import RankedChunk, drop_overlapping
from codekernel.search.ranking_weights import DEFAULT_WEIGHTS

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from kept_vectors import KeptVectors
from kernel_searchers import Reranked, Static

FILES, HITS = 40, 60

MAX_NAMES = 12

# Functions are short: more of them can be read in the same time.
READ_FILES = {"heap": 30, "cosqa": 30}

# Of a sample: commits are the longest questions, and heaps the largest folders.
SHARES = {"commit": 2, "comment": 1, "heap": 10}


class Group(NamedTuple):
    """A folder and its questions: kind, text, and the files that answer it."""

    name: str
    language: str
    root: Path
    questions: list[tuple[str, str, list[str]]]


def main() -> None:
    """Write a line for each question that the pipeline ranks as one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--lists", type=Path)
    parser.add_argument("--bench", type=Path)
    parser.add_argument("--repos", type=Path)
    parser.add_argument("--read", type=int, metavar="SAMPLE")
    parser.add_argument("--kinds", nargs="*", help="of the yardsticks; all without it")
    options = parser.parse_args()
    groups = list(_list_mined(options.lists)) if options.lists else []
    if options.bench:
        groups += _list_yardsticks(options.bench, options.repos)
    if options.read:
        groups = [_draw(group, options.read) for group in groups]
    searcher = Reranked() if options.read else Static()
    reader = searcher.reader if isinstance(searcher, Reranked) else None
    with TemporaryDirectory() as folder, options.out.open("w", encoding="utf-8") as file:
        if options.bench:
            groups.append(_pile_functions(options.bench / "cosqa_dev.json", Path(folder)))
        for group in groups:
            questions = [it for it in group.questions if it[0] in (options.kinds or it)]
            if not questions:
                continue
            index = searcher.index(group.root)
            for kind, text, wanted in questions:
                if signals := _measure(index[0], kind, text, wanted, reader):
                    place = {"group": group.name, "language": group.language, "kind": kind}
                    file.write(json.dumps({**place, "wanted": len(wanted), **signals}) + "\n")
            searcher.close(index)
            print(group.name, len(questions), flush=True)


def _draw(group: Group, count: int) -> Group:
    """Return a group with a sample of each kind of mined question, and all of a yardstick."""
    dice = random.Random(group.name)  # noqa: S311 - a sample, not a secret
    by_kind: dict[str, list[tuple[str, str, list[str]]]] = defaultdict(list)
    for question in group.questions:
        by_kind[question[0]].append(question)
    drawn = [
        question
        for kind, own in by_kind.items()
        for question in (
            dice.sample(own, min(len(own), SHARES[kind] * count)) if kind in SHARES else own
        )
    ]
    return group._replace(questions=drawn)


def _list_mined(work: Path) -> Iterator[Group]:
    for one in json.loads((work / "lists.json").read_text("utf-8")):
        questions = [(it["kind"], it["query"], it["paths"]) for it in one["questions"]]
        root = work / "folders" / one["folder"]
        yield Group(one["folder"], one["language"], root, questions)


def _list_yardsticks(bench: Path, repos: Path) -> Iterator[Group]:
    sys.path.insert(0, str(bench))
    score, score_hist = map(import_module, ("score", "score_hist"))

    for kind, chinese in (("english", False), ("chinese", True)):
        roots, tasks = score.load(bench, repos, [], chinese=chinese)
        for name, root in roots.items():
            own = [task for task in tasks if task.repo == name]
            questions = [(kind, it.query, [target.path for target in it.targets]) for it in own]
            if own:
                yield Group(name, own[0].language, root, questions)
    for one in score_hist.load(bench / "hist", repos, [], long=False):
        questions = [("history", query, wanted) for _, query, wanted, _ in one["queries"]]
        yield Group(one["group"], one["language"], one["root"], questions)


def _pile_functions(data: Path, folder: Path) -> Group:
    content = json.loads(data.read_text("utf-8"))
    for number, text in enumerate(content["docs"]):
        (folder / f"{number:04d}.py").write_text(text, "utf-8")
    questions = [("cosqa", each["q"], [f"{each['rel']:04d}.py"]) for each in content["queries"]]
    return Group("cosqa", "web", folder, questions)


def _measure(
    index: object, kind: str, text: str, wanted: list[str], reader: KeptVectors | None
) -> dict[str, object] | None:
    expression = parse_search_expression(text)
    if expression.is_literal or len(text.split()) >= MIN_LONG_QUERY_WORDS:
        return None
    query = parse_query(expression.query_text)
    retrieved = retrieve_question(index, query, NO_FILTERS, CANDIDATES)  # type: ignore[arg-type]
    if retrieved is None:
        return None
    ranked = rank_question(retrieved, DEFAULT_WEIGHTS).chunks
    files = list(list_file_signals(query, retrieved.candidates, ranked, FILES))
    places = {path: place for place, (path, _) in enumerate(files)}
    answers = [place for path, place in places.items() if _answers(path, wanted)]
    hits = [(places.get(chunk.path, -1), score) for chunk, score, _ in drop_overlapping(ranked)]
    count = READ_FILES.get(kind, MAX_LEARNED_FILES)
    read = _read(index, query, ranked, count, reader) if reader else {}
    return {
        "read": [read[path] for path, _ in files[:count]] if reader else [],
        "query_kind": query.kind.name,
        "features": [[round(value, 5) for value in values] for _, values in files],
        "answers": answers,
        "hits": hits[:HITS],
    }


def _read(
    index: Any, query: Query, ranked: Sequence[RankedChunk], count: int, reader: KeptVectors
) -> dict[str, list[float]]:
    """Return cosines of two chunks of each of the first files, and of its path and names.

    Of files that the trees do not read, of the best chunk alone; last is the length of that.
    """
    chunks: dict[str, list[IndexedChunk]] = {}
    for chunk, _, _ in drop_overlapping(ranked):
        if chunk.path in chunks or len(chunks) < count:
            chunks.setdefault(chunk.path, []).append(chunk)
    first = [chunk for own in chunks.values() for chunk in own[:2]]
    contents = index.store.catalog.read_chunk_texts([chunk.id for chunk in first])
    texts: list[str] = []
    owners: list[tuple[str, int]] = []
    found: dict[str, list[float]] = {}
    for number, (path, own) in enumerate(chunks.items()):
        for place, chunk in enumerate(own[: 2 if number < MAX_LEARNED_FILES else 1]):
            content = contents.get(chunk.id, "")
            texts.append(f"{path}\n{build_embedding_text(chunk.symbols, content)}")
            owners.append((path, place))
            if place == 0:
                found[path] = [-1.0, -1.0, -1.0, len(texts[-1])]
        if number < MAX_LEARNED_FILES:
            names = dict.fromkeys(name for chunk in own for name in chunk.defined_names)
            texts.append(f"{path}\n{' '.join(list(names)[:MAX_NAMES])}")
            owners.append((path, 2))
    cosines = reader.compute_cosines(query.semantic_query, texts)
    for (path, place), cosine in zip(owners, cosines, strict=True):
        found[path][place] = round(cosine, 5)
    return found


def _answers(path: str, wanted: list[str]) -> bool:
    return any(path == it or path.endswith(f"/{it}") or it.endswith(f"/{path}") for it in wanted)


if __name__ == "__main__":
    main()
