"""What libclang says of calls in C and C++: ``... ROOT BELOW COUNT SEED``, JSON lines on stdout.

Runs in an environment of its own (``rival_venv.py``). Each file is parsed with the project's own
folders on its include path and without its build's settings, so what hides behind a missing header
is unknown. A function that is only declared where it is called is looked up among all definitions.
"""

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path

from clang.cindex import Cursor, CursorKind, Index, TranslationUnit, TranslationUnitLoadError

FUNCTIONS = {
    CursorKind.FUNCTION_DECL,
    CursorKind.CXX_METHOD,
    CursorKind.FUNCTION_TEMPLATE,
    CursorKind.CONSTRUCTOR,
}
SCOPES = {
    CursorKind.NAMESPACE,
    CursorKind.CLASS_DECL,
    CursorKind.STRUCT_DECL,
    CursorKind.CLASS_TEMPLATE,
    CursorKind.LINKAGE_SPEC,
    CursorKind.UNEXPOSED_DECL,
}
# Parsing one with all its headers takes a second; what the others define is unknown.
MAX_FILES = 100
SOURCES = {".c": "c", ".cc": "c++", ".cpp": "c++"}


def main() -> None:
    """Print what clang knows of a sample."""
    root, below = Path(sys.argv[1]).resolve(), sys.argv[2]
    chance = random.Random(int(sys.argv[4]))  # noqa: S311 - the same draw each time
    files = [path for path in sorted((root / below).rglob("*")) if path.suffix in SOURCES]
    files = chance.sample(files, min(MAX_FILES, len(files)))
    units = [unit for path in files if (unit := _parse(path, root))]
    defined: dict[str, tuple[str, int]] = {}
    sites = []
    for unit in units:
        for cursor in _defined_in(unit.cursor, root):
            here = _place(cursor, root)
            if here is None:
                continue
            defined[cursor.get_usr()] = here
            if cursor.location.file.name == unit.spelling:
                inner = cursor.walk_preorder()
                sites += [(here, one) for one in inner if one.kind == CursorKind.CALL_EXPR]
    sites = [(here, cursor) for here, cursor in sites if _has_name(cursor)]
    chosen = chance.sample(sites, min(int(sys.argv[3]), len(sites)))
    for (path, _), cursor in chosen:
        said = _describe(cursor, root, defined)
        if said:
            print(json.dumps({"path": path, **said}))


def _parse(path: Path, root: Path) -> TranslationUnit | None:
    language = SOURCES[path.suffix]
    folders = [root, root / "include", path.parent, path.parent.parent]
    arguments = [f"-x{language}", *(f"-I{folder}" for folder in folders), "-DHAVE_CONFIG_H=0"]
    arguments += ["-std=c++17"] if language == "c++" else []
    try:
        return Index.create().parse(str(path), args=arguments)
    except TranslationUnitLoadError:
        return None


def _place(cursor: Cursor, root: Path) -> tuple[str, int] | None:
    file = cursor.location.file
    if file is None or not Path(file.name).resolve().is_relative_to(root):
        return None
    return Path(file.name).resolve().relative_to(root).as_posix(), cursor.location.line


def _defined_in(cursor: Cursor, root: Path) -> Iterator[Cursor]:
    """The functions that are defined below a cursor, not in functions and not in libraries."""
    for child in cursor.get_children():
        if child.kind in FUNCTIONS:
            if child.is_definition():
                yield child
        elif child.kind in SCOPES and _place(child, root):
            yield from _defined_in(child, root)


def _has_name(cursor: Cursor) -> bool:
    return bool(cursor.spelling) and not cursor.spelling.startswith("operator")


def _describe(
    cursor: Cursor, root: Path, defined: dict[str, tuple[str, int]]
) -> dict[str, object] | None:
    home = cursor.location.file.name
    tokens = [
        token
        for token in cursor.get_tokens()
        if token.spelling == cursor.spelling and token.location.file.name == home
    ]
    if not tokens:
        return None  # written by a macro, or a conversion that nobody wrote
    line = tokens[0].location.line
    called = cursor.referenced
    about: dict[str, object] = {"line": line, "name": cursor.spelling}
    if called is None or called.kind not in FUNCTIONS:
        return {**about, "said": "unknown", "targets": []}
    target = defined.get(called.get_usr()) or defined.get(_template(called))
    if target:
        return {**about, "said": "inside", "targets": [target]}
    inside = _place(called, root) is not None
    return {**about, "said": "unknown" if inside else "outside", "targets": []}


def _template(called: Cursor) -> str:
    general = getattr(called, "specialized_template", None)
    return general.get_usr() if general else ""


if __name__ == "__main__":
    main()
