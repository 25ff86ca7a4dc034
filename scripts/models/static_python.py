"""Documented Python functions, found with the syntax tree rather than by shape."""

import ast
import warnings
from collections.abc import Iterator

from static_text import (
    MAX_FUNCTION,
    MIN_CODE_WORDS,
    MIN_QUERY_WORDS,
    WORD,
    Function,
    first_sentence,
)


def functions(text: str) -> Iterator[Function]:
    """The documented functions of a Python file, their docstrings cut out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            return
    lines = text.splitlines()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _function(node, lines)


def _function(node: ast.FunctionDef | ast.AsyncFunctionDef, lines: list[str]) -> Iterator[Function]:
    documentation = ast.get_docstring(node)
    if not documentation or len(node.body) == 1:
        return
    first = node.body[0]
    kept = lines[node.lineno - 1 : first.lineno - 1] + lines[first.end_lineno : node.end_lineno]
    query, code = first_sentence(documentation), "\n".join(kept)
    if len(query.split()) >= MIN_QUERY_WORDS and len(WORD.findall(code)) >= MIN_CODE_WORDS:
        yield Function("python", query, code[:MAX_FUNCTION])
