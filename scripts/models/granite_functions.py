"""Functions and what their docstrings say of them, from Python sources: the retrieval questions."""

import ast
import random
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

MIN_WORDS, MIN_LINES, MAX_LINES = 5, 6, 80  # a question, and a function worth finding


@dataclass(frozen=True)
class Function:
    """A function without its docstring, and the docstring's first line."""

    question: str
    text: str


def sample(folder: Path, count: int) -> list[Function]:
    """The same ``count`` functions of the sources under ``folder`` each time."""
    found: dict[str, Function] = {}
    for path in sorted(folder.rglob("*.py")):
        for function in _functions(path):
            found.setdefault(function.question, function)
    return random.Random(0).sample(list(found.values()), count)  # noqa: S311 - a repeatable choice


def _functions(path: Path) -> Iterator[Function]:
    source = path.read_text(encoding="utf-8", errors="replace")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        try:
            tree = ast.parse(source)
        except SyntaxError:
            return
    lines = source.splitlines()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            question = (ast.get_docstring(node) or "").partition("\n")[0]
            documented = node.body[0]
            end = documented.end_lineno or 0
            text = [*lines[node.lineno - 1 : documented.lineno - 1], *lines[end : node.end_lineno]]
            if len(question.split()) >= MIN_WORDS and MIN_LINES <= len(text) <= MAX_LINES:
                yield Function(question, "\n".join(text))
