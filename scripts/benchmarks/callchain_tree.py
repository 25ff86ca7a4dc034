"""Real calls in a generated tree: in every file one function that calls others, in any file.

How often a function is called is as uneven as in real projects: some names are called all over.
"""

import random
import re
from pathlib import Path

_DEFINED = re.compile(r"^(?:export )?(?:def|function|func|pub fn|int) (\w+)\(", re.MULTILINE)
_CALLS = {
    ".py": ("def {name}(value):\n{calls}    return value\n", "    {call}(value)\n"),
    ".js": ("export function {name}(value) {{\n{calls}}}\n", "  {call}(value);\n"),
    ".ts": ("export function {name}(value: any) {{\n{calls}}}\n", "  {call}(value);\n"),
    ".go": ("func {name}(value int) {{\n{calls}}}\n", "\t{call}(value)\n"),
    ".rs": ("pub fn {name}(value: u64) {{\n{calls}}}\n", "    {call}(value);\n"),
    ".c": ("void {name}(int value)\n{{\n{calls}}}\n", "    {call}(value);\n"),
}
CALLS_PER_FUNCTION = 12
# So many names of each language are called by many; a file calls each of them with this chance.
POPULAR, POPULAR_SHARE = 20, 0.02
_IMPORTS = {".py": "from {module} import {call}\n", ".js": "import {{ {call} }} from '{way}';\n"}


def connect(root: Path, seed: int) -> list[str]:
    """Append a calling function to each file; the names that can be asked about."""
    chance = random.Random(seed)  # noqa: S311 - the same draw each time
    by_kind: dict[str, list[tuple[Path, str]]] = {}
    for path in sorted(root.rglob("*.*")):
        found = _DEFINED.findall(path.read_text(encoding="utf-8"))
        by_kind.setdefault(path.suffix, []).extend((path, name) for name in found)
    asked: list[str] = []
    for suffix, defined in by_kind.items():
        popular = defined[:POPULAR]
        for number, path in enumerate(sorted({path for path, _ in defined})):
            called = chance.sample(defined, min(CALLS_PER_FUNCTION, len(defined)))
            called += [one for one in popular if chance.random() < POPULAR_SHARE]
            name = f"connect_{suffix[1:]}_{number}"
            _append(path, suffix, name, called, root)
            asked += [name, called[0][1]]
    return asked


def _append(path: Path, suffix: str, name: str, called: list[tuple[Path, str]], root: Path) -> None:
    whole, call = _CALLS[suffix]
    calls = "".join(call.format(call=each) for _, each in called)
    head = ""
    for where, each in called:
        module = ".".join(where.relative_to(root).with_suffix("").parts)
        up = "../" * (len(path.relative_to(root).parts) - 1) or "./"
        way = up + where.relative_to(root).with_suffix("").as_posix()
        template = _IMPORTS.get(".js" if suffix == ".ts" else suffix, "")
        head += template.format(module=module, way=way, call=each)
    text = path.read_text(encoding="utf-8")
    path.write_text(f"{head}{text}\n{whole.format(name=name, calls=calls)}", encoding="utf-8")
