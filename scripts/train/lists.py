"""What a reranker is to learn from: ``lists.py WORK``; files.jsonl to lists.jsonl.

Every package becomes a repository, from whose files a few comments are taken out. The first
sentence of such a comment is a query; what the product's whole search finds for it, the best chunk
of each file, is a list. The chunk of the file the comment came from is the right one.
Each line is [package, language, query, the right one's place, [[path, text, score], ...]] in the
order of the search.
"""

import json
import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import beside  # noqa: F401 - makes the next ones importable
import comments
from codekernel.domain.index import build_embedding_text
from codekernel.search.pipeline import Searcher
from kernel_searchers import Static as Indexed
from static_text import split_words

MAX_FILES = 250  # of one package
MIN_FILES = 12
TAKEN_OUT = 2  # comments of one file
MAX_QUERIES = 60  # of one package
QUERY_WORDS = range(4, 25)
HITS = 40
MIN_OTHERS = 7
SEED = 20261117

Question = tuple[str, str, str]  # path, language, sentence
Candidate = tuple[str, str, float]  # path, text, the search's score


def main(work: Path) -> None:
    """Write the lists of every package, half-done ones from where they were left."""
    target = work / "lists.jsonl"
    done = {json.loads(line)[0] for line in target.open()} if target.exists() else set()
    packages = _packages(work / "files.jsonl")
    searcher = Indexed()
    with target.open("a", encoding="utf-8") as out:
        for package, files in packages.items():
            if package in done or len(files) < MIN_FILES:
                continue
            dice = random.Random(f"{SEED} {package}")  # noqa: S311 - a sample, not a secret
            with tempfile.TemporaryDirectory() as folder:
                root = Path(folder).resolve()
                questions = list(_written(root, files, dice))
                handle = searcher.index(root)
                dice.shuffle(questions)
                rows = [
                    json.dumps([package, language, sentence, _place(found, path), found]) + "\n"
                    for path, language, sentence in questions[:MAX_QUERIES]
                    if (found := _found(handle[1], path, sentence))
                ]
                searcher.close(handle)
            out.writelines(rows)
            out.flush()
            print(f"{package:34} {len(files):5} files {len(rows):3} lists", flush=True)


def _packages(files: Path) -> dict[str, list[tuple[str, str, str]]]:
    found = defaultdict(list)
    for line in files.open(encoding="utf-8"):
        package, path, language, text = json.loads(line)
        found[package].append((path, language, text))
    return found


def _written(
    root: Path, files: list[tuple[str, str, str]], dice: random.Random
) -> Iterator[Question]:
    """Write a package's files without some of their comments; these are the questions."""
    for path, language, whole in dice.sample(files, min(len(files), MAX_FILES)):
        text = whole
        if language != "prose":
            there = [
                each
                for each in comments.sentences(text)
                if len(split_words(each[2])) in QUERY_WORDS
            ]
            chosen = dice.sample(there, min(len(there), TAKEN_OUT))
            for begin, end, sentence in sorted(chosen, reverse=True):
                text = text[:begin] + text[end:]
                yield path, language, sentence
        target = root / PurePosixPath(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def _found(searcher: Searcher, path: str, sentence: str) -> list[Candidate]:
    """The best chunk of every file in the order of the search; nothing without the right file's."""
    best: dict[str, Candidate] = {}
    for hit in searcher.search(sentence, HITS):
        text = build_embedding_text(hit.chunk.symbols, hit.content)
        best.setdefault(hit.chunk.path, (hit.chunk.path, text, round(hit.score, 4)))
    return list(best.values()) if path in best and len(best) > MIN_OTHERS else []


def _place(found: list[Candidate], path: str) -> int:
    return [each[0] for each in found].index(path)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
