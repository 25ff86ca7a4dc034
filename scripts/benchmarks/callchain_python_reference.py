"""What jedi says of calls in a Python project: ``... ROOT BELOW COUNT SEED``, JSON lines on stdout.

Runs in an environment of its own (``rival_venv.py``). A line is one call, drawn at random: where it
is, and what is called: "inside" with path and line, "outside", or "unknown".
"""

import ast
import json
import random
import sys
import warnings
from pathlib import Path

import jedi

CALLED = {"function", "class"}


def main() -> None:
    """Print what jedi knows of a sample."""
    root, below = Path(sys.argv[1]).resolve(), sys.argv[2]
    sites = [site for path in sorted((root / below).rglob("*.py")) for site in _sites(path)]
    chance = random.Random(int(sys.argv[4]))  # noqa: S311 - the same draw each time
    sample = chance.sample(sites, min(int(sys.argv[3]), len(sites)))
    project = jedi.Project(root, added_sys_path=[str(root), str(root / "src")])
    scripts: dict[Path, jedi.Script] = {}
    for path, line, column, name in sorted(sample):
        if path not in scripts:
            scripts = {path: jedi.Script(path=path, project=project)}
        found = _definitions(scripts[path], line, column)
        where = path.relative_to(root).as_posix()
        print(json.dumps({"path": where, "line": line, "name": name, **_describe(found, root)}))


def _sites(path: Path) -> list[tuple[Path, int, int, str]]:
    found = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(path.read_bytes())
    except SyntaxError:
        return []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called = node.func
        if isinstance(called, ast.Name):
            found.append((path, called.lineno, called.col_offset, called.id))
        elif isinstance(called, ast.Attribute):
            end = called.end_col_offset or 0
            found.append((path, called.end_lineno or 0, end - len(called.attr), called.attr))
    return found


def _definitions(script: jedi.Script, line: int, column: int) -> list[jedi.api.classes.Name]:
    try:
        return list(script.goto(line, column, follow_imports=True))
    except Exception:  # noqa: BLE001 - jedi fails in many ways, and then it knows nothing
        return []


def _describe(found: list[jedi.api.classes.Name], root: Path) -> dict[str, object]:
    targets = []
    outside = False
    for one in found:
        path = one.module_path
        inside = path is not None and path.is_relative_to(root)
        if inside and one.type in CALLED and path is not None and one.line:
            targets.append((path.relative_to(root).as_posix(), one.line))
        elif not inside and (one.type in CALLED or one.in_builtin_module()):
            outside = True
    if targets:
        return {"said": "inside", "targets": targets}
    return {"said": "outside" if outside else "unknown", "targets": []}


if __name__ == "__main__":
    main()
