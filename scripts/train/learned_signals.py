"""Dump what learned_ranking.py learns from: ``learned_signals.py OUT --lists WORK --bench B``.

WORK is the folder that ``ranking_lists.py`` filled; ``--bench`` and ``--repos`` add the questions
of the development repositories, of their histories, and of CoSQA. OUT gets one JSON line for each
question: where it comes from, the features of its candidate files in order, which of them answer
it, and the hits (file and score) that a learned order is judged by.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from codekernel.search.filters import NO_FILTERS
from codekernel.search.learned_ranking import list_file_signals
from codekernel.search.long_query import MIN_LONG_QUERY_WORDS
from codekernel.search.pipeline import CANDIDATES, rank_question, retrieve_question
from codekernel.search.query_parser import parse_query
from codekernel.search.query_syntax import parse_search_expression
from codekernel.search.ranking import drop_overlapping
from codekernel.search.ranking_weights import DEFAULT_WEIGHTS

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from kernel_searchers import Static

FILES, HITS = 40, 60


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
    options = parser.parse_args()
    groups = list(_list_mined(options.lists)) if options.lists else []
    if options.bench:
        groups += _list_yardsticks(options.bench, options.repos)
    searcher = Static()
    with TemporaryDirectory() as folder, options.out.open("w", encoding="utf-8") as file:
        if options.bench:
            groups.append(_pile_functions(options.bench / "cosqa_dev.json", Path(folder)))
        for group in groups:
            index = searcher.index(group.root)
            for kind, text, wanted in group.questions:
                if signals := _measure(index[0], text, wanted):
                    place = {"group": group.name, "language": group.language, "kind": kind}
                    file.write(json.dumps({**place, "wanted": len(wanted), **signals}) + "\n")
            searcher.close(index)
            print(group.name, len(group.questions), flush=True)


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


def _measure(index: object, text: str, wanted: list[str]) -> dict[str, object] | None:
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
    return {
        "query_kind": query.kind.name,
        "features": [[round(value, 5) for value in values] for _, values in files],
        "answers": answers,
        "hits": hits[:HITS],
    }


def _answers(path: str, wanted: list[str]) -> bool:
    return any(path == it or path.endswith(f"/{it}") or it.endswith(f"/{path}") for it in wanted)


if __name__ == "__main__":
    main()
