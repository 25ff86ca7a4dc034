"""The floor plan of ARCHITECTURE.md: imports only go down, libraries enter by one door."""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
KERNEL = ROOT / "kernel" / "codekernel"

FLOORS: dict[str, int] = {
    "domain": 0,
    "errors": 0,
    "masking": 0,
    "protocol": 1,
    "transport": 1,
    "storage": 1,
    "inference": 1,
    "llm": 1,
    "chunking": 1,
    "files": 1,
    "watching": 1,
    "dispatch": 2,
    "settings": 2,
    "indexing": 2,
    "search": 2,
    "loop": 2,
    "callgraph": 2,
    "conversation": 3,
    "agent": 4,
    "runtime": 5,
    "handlers": 6,
    "adapters": 6,
    "app": 7,
    "cli": 7,
    "__main__": 7,
    "__init__": 0,
}
# Rooms of one floor do not know each other, but for the wiring at the top.
WIRING_FLOOR = 7
DOORS: dict[str, set[str]] = {
    "msgspec": {"protocol"},
    "onnxruntime": {"inference"},
    "numpy": {"inference", "storage", "indexing"},  # what models give and the store takes
    "tokenizers": {"inference"},
    "httpx": {"llm"},
    "sqlcipher3": {"storage"},
    "keyring": {"storage"},
    "filelock": {"storage"},
    "platformdirs": {"storage"},
    "lancedb": {"storage"},
    "pyarrow": {"storage"},
    "tantivy": {"storage"},
    "tree_sitter": {"chunking"},
    "watchdog": {"watching"},
    "psutil": {"indexing", "watching"},
    "websockets": {"adapters"},
    "mcp": {"adapters"},
    "mcp_types": {"adapters"},
    "anyio": {"adapters"},
    "starlette": {"adapters"},
    "uvicorn": {"adapters"},
}
LONGEST_FILE_LINES = 430
VAGUE_NAMES = {"utils", "helpers", "common", "manager", "misc"}

MODULES = sorted(KERNEL.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(KERNEL).parts[0].removesuffix(".py")


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(path: Path) -> Iterator[str]:
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            module = node.module or ""
            yield from (
                f"codekernel.{name.name}" if module == "codekernel" else module
                for name in node.names
            )


def complaint(room: str, module: str) -> str | None:
    """What is wrong with this import from this room."""
    package, _, rest = module.partition(".")
    if package != "codekernel":
        allowed = DOORS.get(package)
        if allowed is None:
            known = package in sys.stdlib_module_names
            return None if known else f"{package} has no door: add it to DOORS and ARCHITECTURE.md"
        return None if room in allowed else f"{package} may enter only through {allowed}"
    target = rest.split(".")[0]
    if target not in FLOORS:  # a name in kernel/codekernel/__init__.py
        return None
    if target == room or FLOORS[target] < FLOORS[room] or FLOORS[room] == WIRING_FLOOR:
        return None
    return f"floor {FLOORS[room]} imports {target} of floor {FLOORS[target]}"


# One test for all files: with one for each, a quarter of the fast lane's tests were these.
def test_imports_only_go_down_and_libraries_enter_by_their_door() -> None:
    assert {room_of(path) for path in MODULES} <= FLOORS.keys(), "a room has no floor"
    complaints = [
        f"{path.relative_to(ROOT).as_posix()}: {said}"
        for path in MODULES
        for module in imported(path)
        if (said := complaint(room_of(path), module))
    ]
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize(
    ("room", "module"),
    [
        ("domain", "codekernel.storage.vault.vault"),
        ("transport", "codekernel.protocol.codec"),
        ("storage", "codekernel.runtime.sessions"),
        ("settings", "codekernel.dispatch.routing"),
        ("handlers", "msgspec"),
        ("adapters", "codekernel.handlers.context"),
        ("cli", "websockets"),
        ("llm", "requests"),
    ],
)
def test_the_rule_would_notice(room: str, module: str) -> None:
    assert complaint(room, module)


def test_every_file_says_what_it_owns_and_is_a_small_room_with_a_name() -> None:
    for path in MODULES:
        text = path.read_text(encoding="utf-8")
        assert ast.get_docstring(tree_of(path)), path
        assert text.count("\n") <= LONGEST_FILE_LINES, path
        assert path.stem not in VAGUE_NAMES, path


def test_dispatch_answering_is_the_only_place_where_any_exception_becomes_a_status() -> None:
    """Besides it, only the guards of threads catch everything, for the thread's owner."""
    broad = {
        path.relative_to(KERNEL).as_posix()
        for path in MODULES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ExceptHandler)
        and {"Exception", "BaseException"} & {
            name.id for name in ast.walk(node.type or ast.Name("BaseException"))
            if isinstance(name, ast.Name)
        }
        and not any(isinstance(inner, ast.Raise) for inner in ast.walk(node))
    }  # fmt: skip
    assert broad == {
        "indexing/index_worker.py",
        "runtime/sessions.py",
        "storage/vault/os_keyring.py",
        "transport/listener.py",
        "adapters/web/threads.py",
        "agent/registry.py",
        "dispatch/requests.py",
        "dispatch/routing.py",
        "indexing/repository_index.py",
        "app.py",
    }
