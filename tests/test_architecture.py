"""The rules of ARCHITECTURE.md that a program can check; pyproject.toml declares the layers."""

import ast
import re
import subprocess
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "kernel" / "codekernel"
PYPROJECT = ROOT / "pyproject.toml"
MAX_MODULE_LINES = 400
VAGUE_NAMES = {"utils", "helpers", "common", "manager", "misc"}
MODULES = sorted(PACKAGE.rglob("*.py"))
KNOWN_PACKAGES = sys.stdlib_module_names | {"codekernel"}


# Parsing every module takes a second, so that only those with such a line are.
IMPORT = re.compile(r"(?m)^ *(?:from|import) ([.\w]+)")
BROAD_EXCEPT = re.compile(r"(?m)^ *except(?::|.*\b(?:Base)?Exception\b)")


@cache
def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@cache
def parse(path: Path) -> ast.Module:
    return ast.parse(read(path))


def imported_packages(path: Path) -> set[str]:
    """Return the top-level packages that a module imports, also inside functions."""
    found = {name.partition(".")[0] for name in IMPORT.findall(read(path))}
    if found <= KNOWN_PACKAGES:
        return found
    names: set[str] = set()
    for node in ast.walk(parse(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names.add(node.module or "")
    return {name.partition(".")[0] for name in names}


def test_imports_only_go_down_and_a_library_enters_by_its_package() -> None:
    # A process of its own: import-linter configures logging, which silences other tests' loggers.
    program = (
        "import sys; from importlinter.cli import lint_imports;"
        "sys.exit(lint_imports(sys.argv[1], no_cache=True))"
    )
    command = [sys.executable, "-c", program, str(PYPROJECT)]
    linted = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert linted.returncode == 0, linted.stdout


@pytest.mark.slow
def test_nothing_is_dead_code() -> None:
    """Names that are used in a way that vulture cannot see are listed in pyproject.toml."""
    command = [sys.executable, "-m", "vulture"]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stdout + found.stderr


def test_every_library_has_an_import_contract() -> None:
    config = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))
    contracts = config["tool"]["importlinter"]["contracts"]
    contracted = {name for one in contracts for name in one.get("protected_modules", ())}
    used = set[str]().union(*map(imported_packages, MODULES))
    assert used - KNOWN_PACKAGES == contracted


def test_every_module_has_a_docstring_a_short_length_and_a_telling_name() -> None:
    for path in MODULES:
        text = read(path)
        assert text.startswith('"""'), path
        assert text.count("\n") <= MAX_MODULE_LINES, path
        assert path.stem not in VAGUE_NAMES, path


def test_only_dispatch_and_the_guards_of_threads_catch_every_exception() -> None:
    """Dispatch turns an exception into a reply; a guard reports it to the owner of the thread."""
    broad = {
        path.relative_to(PACKAGE).as_posix()
        for path in MODULES
        if BROAD_EXCEPT.search(read(path))
        for node in ast.walk(parse(path))
        if isinstance(node, ast.ExceptHandler)
        and {"Exception", "BaseException"} & {
            name.id for name in ast.walk(node.type or ast.Name("BaseException"))
            if isinstance(name, ast.Name)
        }
        and not any(isinstance(inner, ast.Raise) for inner in ast.walk(node))
    }  # fmt: skip
    assert broad == {
        "indexing/index_worker.py",
        "indexing/team_index.py",
        "runtime/sessions.py",
        "sharing/object_store.py",
        "sync/runner.py",
        "storage/vault/vault_key.py",
        "transport/listener.py",
        "adapters/kode/service.py",
        "adapters/lark/delivery.py",
        "adapters/lark/inbox.py",
        "adapters/telegram/adapter.py",
        "adapters/telegram/turn_messages.py",
        "agent/registry.py",
        "dispatch/dispatcher.py",
        "indexing/repository_index.py",
        "domain/concurrency.py",
        "adapters/mcp/server.py",  # from exceptions to replies of its protocol
    }
