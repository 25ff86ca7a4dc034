"""onnxruntime is never imported before its telemetry is off; see docs/privacy.md."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
VARIABLE = "ORT_DISABLE_TELEMETRY"
# The one module of the kernel that imports it.
GATE = ROOT / "kernel" / "codekernel" / "inference" / "providers.py"
SCRIPTS = sorted((ROOT / "scripts").rglob("*.py"))


def names_of(statement: ast.stmt) -> list[str]:
    if isinstance(statement, ast.Import):
        return [alias.name for alias in statement.names]
    if isinstance(statement, ast.ImportFrom) and statement.module and not statement.level:
        return [statement.module]
    return []


def imports_of(path: Path) -> Iterator[str]:
    text = path.read_text(encoding="utf-8")
    if "onnxruntime" not in text:  # parsing every module takes a second
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.stmt):
            yield from (name.partition(".")[0] for name in names_of(node))


def switches_off(statement: ast.stmt) -> bool:
    is_kernel = any(name.partition(".")[0] == "codekernel" for name in names_of(statement))
    return is_kernel or (isinstance(statement, ast.Assign) and VARIABLE in ast.dump(statement))


@pytest.mark.parametrize("value", ["0", "false", "", "1"])
def test_the_kernel_switches_it_off_whatever_the_environment_says(value: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", f"import codekernel, os; print(os.environ[{VARIABLE!r}])"],
        env={**os.environ, VARIABLE: value},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "1\n"


def test_the_kernel_imports_it_in_one_place_and_calls_its_switch_there() -> None:
    found = [
        path for path in (ROOT / "kernel").rglob("*.py") if "onnxruntime" in set(imports_of(path))
    ]
    assert found == [GATE]
    assert "disable_telemetry_events()" in GATE.read_text(encoding="utf-8")


def imports_it_too_early(path: Path) -> bool:
    for statement in ast.parse(path.read_text(encoding="utf-8")).body:
        if switches_off(statement):
            return False
        if any(name.partition(".")[0] == "onnxruntime" for name in names_of(statement)):
            return True
    return False


def test_a_script_that_imports_it_switches_it_off_before() -> None:
    assert [str(path.relative_to(ROOT)) for path in SCRIPTS if imports_it_too_early(path)] == []


def test_tests_and_what_scripts_start_inherit_it() -> None:
    assert os.environ[VARIABLE] == "1"
    for name in ("tests/conftest.py", "scripts/environment.py"):
        body = ast.parse((ROOT / name).read_text(encoding="utf-8")).body
        assert any(switches_off(each) for each in body if isinstance(each, ast.Assign)), name
