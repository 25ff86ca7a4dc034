"""What people ask and what answers it: ``questions.py WORK COSQA``; to WORK/questions.jsonl.

Each line is [package, language, kind, name, sentence, paragraph, rest, code]:
*function* - a function without its documentation, and the parts of that documentation;
*text* - a heading, a first sentence, a comment or a path, and what it stands above or in.
Reads python_files.jsonl and files.jsonl. No function of ``COSQA`` (the benchmark's cosqa_dev.json)
is taken: by its code, by name and first sentence, or by first sentence.
"""

import ast
import hashlib
import json
import random
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import beside  # noqa: F401 - makes the next ones importable
import comments
import static_text
from static_text import first_sentence, split_words

FUNCTIONS, WINDOWS, HEADINGS = 110, 50, 30  # of one package and language: functions, files, pairs
OF_FILE = 25  # functions
MAX_CODE = 6000  # characters
MIN_SENTENCE, MIN_CODE, MIN_WORDS = 3, 12, 4  # words
MAX_HEADING = 14
LINES = 50  # of a window
SEED = 1
OUTSIDE = frozenset(["django", "flask", "pytest", "sympy"])  # repositories of SWE-bench

DOCUMENTATION = re.compile(r"(\"\"\"|''')(.*?)\1", re.DOTALL)
HEADING = re.compile(
    r"^(#{1,4})\s+(?P<marked>.+?)\s*#*$|^(?P<ruled>.+)\n([=\-~^\"'])\4{3,}\s*$", re.MULTILINE
)
MARKUP = re.compile(r"^```.*?^```|<[^>]+>", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
ROLE = re.compile(r":\w+:`~?([^`]*)`")
END = re.compile(
    r"\n\s*\n|\n\s*[:@](?:param|type|return|raise)|>>>"
    r"|\n\s*(?:Args|Arguments|Parameters|Returns|Raises|Examples?|Notes?|Yields)\s*:?\s*\n"
)
CALLED = re.compile(r"(\w+)\s*(?:<[^>]*>)?\(")

Row = tuple[str, str, str, str, str, str]  # kind, name, sentence, paragraph, rest, code


class Banned:
    """The functions of a benchmark."""

    def __init__(self, functions: list[str]) -> None:
        self._known: set[object] = set()
        for function in functions:
            found = DOCUMENTATION.search(function)
            cut = function[: found.start()] + function[found.end() :] if found else function
            self._known.add(("code", normal(cut)))
            sentence = normal(first_sentence(found[2])) if found else ""
            if len(sentence.split()) >= MIN_WORDS:
                self._known.add(("sentence", sentence))
            if found and (name := re.search(r"def\s+(\w+)", function)):
                self._known.add((name[1], sentence))

    def has(self, name: str, sentence: str, code: str) -> bool:
        """Whether this is one of them."""
        asked = normal(sentence)
        mine = {("code", normal(code)), ("sentence", asked), (name, asked)}
        return not mine.isdisjoint(self._known)


def normal(text: str) -> str:
    """The words alone."""
    return " ".join(split_words(text))


def main(work: Path, cosqa: Path) -> None:
    """Write the questions unless they are there."""
    target = work / "questions.jsonl"
    if target.exists():
        return
    banned = Banned(json.loads(cosqa.read_bytes())["docs"])
    dice = random.Random(SEED)  # noqa: S311 - a sample, not a secret
    part, seen, taken = target.with_suffix(".part"), set(), Counter[tuple[str, str, str]]()
    limits = {"function": FUNCTIONS, "prose": HEADINGS, "window": WINDOWS}
    with part.open("w", encoding="utf-8") as out:
        for package, path, language, text in _files(work):
            for source, rows in _sources(path, language, text, dice):
                key = (package, language, source)
                if taken[key] >= limits[source]:
                    continue
                found = list(rows)
                taken[key] += min(len(found), 1) if source == "window" else len(found)
                for row in found:
                    kind, name, sentence, *_, code = row
                    same = hashlib.blake2b(f"{kind}{sentence}{code}".encode(), digest_size=10)
                    if same.digest() not in seen and not banned.has(name, sentence, code):
                        seen.add(same.digest())
                        out.write(json.dumps([package, language, *row], ensure_ascii=False) + "\n")
    part.rename(target)


def _files(work: Path) -> Iterator[list[str]]:
    for name in ("python_files.jsonl", "files.jsonl"):
        with (work / name).open(encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                if row[0] not in OUTSIDE:
                    yield row


def _sources(
    path: str, language: str, text: str, dice: random.Random
) -> Iterator[tuple[str, Iterator[Row]]]:
    if language == "prose":
        yield "prose", _headings(text)
        return
    is_python = language == "python"
    yield "function", _python(text, dice) if is_python else _others(language, text)
    yield "window", _windows(path, text, dice)


def _python(text: str, dice: random.Random) -> Iterator[Row]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            return
    lines = text.splitlines()
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    nodes = [node for node in ast.walk(tree) if isinstance(node, kinds)]
    dice.shuffle(nodes)
    for node in nodes[:OF_FILE]:
        documentation = ast.get_docstring(node)
        if documentation:
            first = node.body[0]
            begin = min([node.lineno, *(one.lineno for one in node.decorator_list)]) - 1
            kept = lines[begin : first.lineno - 1] + lines[first.end_lineno : node.end_lineno]
            yield from _function(node.name, documentation, "\n".join(kept))


def _function(name: str, documentation: str, code: str) -> Iterator[Row]:
    sentence = first_sentence(documentation)
    paragraph = " ".join(ROLE.sub(r"\1", END.split(documentation)[0]).replace("`", "").split())
    flat = " ".join(documentation.split())
    rest = flat.replace(sentence, " ", 1)
    enough = len(split_words(sentence)) >= MIN_SENTENCE and len(split_words(code)) >= MIN_CODE
    if enough and len(code) <= MAX_CODE:
        yield "function", name, sentence, paragraph[:400], rest[:1500], code


def _others(language: str, text: str) -> Iterator[Row]:
    for function in static_text.functions(language, text):
        called = CALLED.findall(function.code.split("{")[0])
        name, query = called[0] if called else "", function.query
        yield "function", name, query, query, "", function.code


def _headings(text: str) -> Iterator[Row]:
    plain = LINK.sub(r"\1", MARKUP.sub("", text))
    found = list(HEADING.finditer(plain))
    ends = [*(one.start() for one in found[1:]), len(plain)]
    for heading, end in zip(found, ends, strict=True):
        title = (heading["marked"] or heading["ruled"] or "").strip()
        pieces = re.split(r"\n\s*\n", plain[heading.end() : end].strip())
        pieces = [piece for piece in pieces if len(split_words(piece)) >= MIN_CODE]
        if pieces and 1 < len(split_words(title)) <= MAX_HEADING:
            yield _text(title, pieces[0][:1200])
        for piece in pieces[:3]:
            first, *others = re.split(r"(?<=[.!?])\s+(?=[A-Z])", " ".join(piece.split()))
            if len(others) > 1 and len(split_words(first)) > MIN_WORDS:
                yield _text(first, " ".join(others)[:1000])


def _windows(path: str, text: str, dice: random.Random) -> Iterator[Row]:
    lines = text.splitlines()
    if len(lines) < LINES // 2:
        return
    about = comments.first(text[:4000])
    for _ in range(2 if len(split_words(about)) >= MIN_WORDS else 0):
        begin = dice.randrange(12, max(13, len(lines) - 20))
        yield _text(about, "\n".join([path, *lines[begin : begin + LINES]]))
    words = " ".join(split_words(str(PurePosixPath(path).with_suffix("")))[-6:])
    begin = dice.randrange(0, max(1, len(lines) - 30))
    yield _text(words, "\n".join(lines[begin : begin + LINES]))
    found = list(comments.sentences(text))
    for begin, end, sentence in dice.sample(found, min(3, len(found))):
        line = text.count("\n", 0, begin)
        above = max(0, line - dice.randrange(35))
        after = line + text.count("\n", begin, end) + 1
        body = "\n".join([path, *lines[above:line], *lines[after : above + LINES]])
        if len(split_words(sentence)) >= MIN_WORDS:
            yield _text(sentence, body)


def _text(sentence: str, body: str) -> Row:
    return "text", "", sentence, "", "", body


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
