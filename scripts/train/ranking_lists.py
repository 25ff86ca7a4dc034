"""Mine questions whose answers are known: ``ranking_lists.py WORK MIRRORS``.

MIRRORS/<owner>+<name>/repo are git directories of ranking_repositories.tsv; none of them is in a
yardstick. Writes WORK/folders/<name>, a repository at its newest commit, and WORK/lists.json:
[{folder, language, questions: [{kind, query, paths}]}]. Kinds are *commit*, a message and the files
that it changed; *comment*, a sentence about code that was taken out of that code; *heap*, the same
with each function in a file of its own, whose name says nothing.
"""

import io
import json
import random
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import beside  # noqa: F401 - makes the next ones importable
import comments
from codekernel.chunking.chunker import chunk_text
from codekernel.domain.index import detect_language
from codekernel.search.boosts import classify_path
from codekernel.search.evaluation import mine_questions
from codekernel.search.git_history import Commit

INPUT_LENGTH = 950
COMMITS = 120
COMMENTS = 40
MAX_COMMENTS_OF_FILE = 2
MIN_WORDS, MAX_WORDS = 4, 25
HEAP_FUNCTIONS = 2_500
HEAP_QUESTIONS = 250
MIN_CODE_CHARS = 120
MAX_FILE_BYTES = 400_000
SEED = 20261118


@dataclass(frozen=True, slots=True)
class Question:
    """A text, and the files that answer it."""

    kind: str
    query: str
    paths: list[str]


@dataclass(frozen=True, slots=True)
class Described:
    """A function and the sentence that described it; its text is without that sentence."""

    language: str
    suffix: str
    query: str
    text: str


def main(work: Path, mirrors: Path) -> None:
    """Write the folders and the lists."""
    dice = random.Random(SEED)  # noqa: S311 - a sample, not a secret
    lists: list[dict[str, object]] = []
    described: list[Described] = []
    for line in Path(__file__).with_name("ranking_repositories.tsv").read_text().splitlines():
        name, language = line.split("\t")
        folder = work / "folders" / name.replace("/", "+")
        git_dir = mirrors / name.replace("/", "+") / "repo"
        if not folder.exists():
            _export(git_dir, folder)
        paths = {it.relative_to(folder).as_posix() for it in folder.rglob("*") if it.is_file()}
        commits = mine_questions(read_commits(git_dir), paths.__contains__, COMMITS)
        questions = [Question("commit", each.text, sorted(each.paths)) for each in commits]
        taken, found = _take_comments(folder, dice)
        questions += taken
        described += found
        lists.append(_describe(folder, language, questions))
        print(name, len(commits), len(taken), len(found), flush=True)
    dice.shuffle(described)
    python = [each for each in described if each.language == "python"]
    other = [each for each in described if each.language != "python"]
    for number, functions in enumerate((python, other, other[HEAP_FUNCTIONS:])):
        folder = work / "folders" / f"heap-{number}"
        questions = list(_pile(folder, functions[:HEAP_FUNCTIONS], dice))
        lists.append(_describe(folder, "python" if number == 0 else "mixed", questions))
        print(folder.name, len(questions), flush=True)
    (work / "lists.json").write_text(json.dumps(lists), encoding="utf-8")


def _describe(folder: Path, language: str, questions: list[Question]) -> dict[str, object]:
    return {
        "folder": folder.name,
        "language": language,
        "questions": [asdict(each) for each in questions],
    }


def _export(git_dir: Path, folder: Path) -> None:
    """Write the files of the newest commit; a mirror may lack the largest."""
    git = ["git", "--git-dir", str(git_dir)]
    listed = subprocess.run([*git, "ls-tree", "-rz", "HEAD"], capture_output=True, check=True)
    entries = [line.split("\t", 1) for line in listed.stdout.decode().split("\0") if line]
    hashes = {path: head.split()[2] for head, path in entries}
    asked = "".join(f"{each}\n" for each in hashes.values()).encode()
    check = [*git, "cat-file", "--batch-check"]
    done = subprocess.run(check, input=asked, capture_output=True, check=True)
    replies = done.stdout.decode().splitlines()
    absent = {line.split()[0] for line in replies if line.endswith("missing")}
    left_out = [f":(exclude,literal){path}" for path, each in hashes.items() if each in absent]
    command = [*git, "archive", "HEAD", "--", ".", *left_out]
    done = subprocess.run(command, capture_output=True, check=True)
    folder.mkdir(parents=True)
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        files = [each for each in archive if each.isfile()]  # links may lead out of the folder
        archive.extractall(folder, members=files, filter="data")


def read_commits(git_dir: Path) -> Iterator[Commit]:
    """Yield the newest commits of a git directory."""
    log = ["git", "--git-dir", str(git_dir), "log", "-n", "4000", "--no-merges", "--name-only"]
    done = subprocess.run(
        [*log, "--format=%x01%H%x02%an%x02%ae%x02%B%x02"], check=False, capture_output=True
    )
    for record in done.stdout.decode(errors="replace").split("\x01")[1:]:
        number, author, mail, message, paths = record.split("\x02", 4)
        yield Commit(
            id=number,
            author=author,
            mail=mail,
            message=message,
            paths=tuple(path for path in paths.splitlines() if path),
        )


def _take_comments(folder: Path, dice: random.Random) -> tuple[list[Question], list[Described]]:
    """Take sentences out of files of a folder; return them, and functions of other files."""
    files = [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink() and path.stat().st_size < MAX_FILE_BYTES
    ]
    dice.shuffle(files)
    questions: list[Question] = []
    described: list[Described] = []
    for file in files:
        path = file.relative_to(folder).as_posix()
        language = detect_language(path)
        kind = classify_path(path)
        if language in {"text", "markdown"} or not kind.is_code or kind.labels:
            continue
        text = file.read_text("utf-8", "replace")
        found = list(_find_described(text, language))
        described += [
            Described(language, file.suffix, query, text[begin : it[0]] + text[it[1] : end])
            for begin, end, it, query in found
        ]
        if found and len(questions) < COMMENTS:
            chosen = dice.sample(found, min(MAX_COMMENTS_OF_FILE, len(found)))
            for _, _, (first, last), query in sorted(chosen, reverse=True):
                text = text[:first] + text[last:]
                questions.append(Question("comment", query, [path]))
            file.write_text(text, "utf-8")
    return questions, described


def _find_described(text: str, language: str) -> Iterator[tuple[int, int, tuple[int, int], str]]:
    """Where a function stands, where the comment in it, and the comment's first sentence."""
    (chunks,) = chunk_text(text, language, [INPUT_LENGTH])
    for chunk in chunks:
        content = text[chunk.begin : chunk.end]
        if not chunk.defined_names or len(content) < MIN_CODE_CHARS:
            continue
        first = next(iter(comments.sentences(content)), None)
        if first and MIN_WORDS <= len(first[2].split()) <= MAX_WORDS:
            span = (chunk.begin + first[0], chunk.begin + first[1])
            yield chunk.begin, chunk.end, span, first[2]


def _pile(folder: Path, functions: list[Described], dice: random.Random) -> Iterator[Question]:
    folder.mkdir(parents=True, exist_ok=True)
    asked = set(dice.sample(range(len(functions)), min(HEAP_QUESTIONS, len(functions))))
    for number, each in enumerate(functions):
        name = f"{number:04d}{each.suffix}"
        (folder / name).write_text(each.text, "utf-8")
        if number in asked:
            yield Question("heap", each.query, [name])


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
