"""The libraries of the pages are those of the table, unchanged, and a browser can import them."""

import hashlib
import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
VENDOR = ROOT / "electron-bridge" / "app" / "pages" / "vendor"
# Minified: `from"./x.js"`; grammars name the words "from" and "import", but no file after them.
IMPORT = re.compile(r"""\b(?:from|import)\s*["']([\w@./-]+)["']""")


@pytest.fixture(scope="module")
def table() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "vendor_pages", ROOT / "scripts" / "vendor_pages.py"
    )
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def listed() -> dict[str, str]:
    files: dict[str, str] = json.loads((VENDOR / "files.json").read_text(encoding="utf-8"))
    return files


def test_every_file_has_the_hash_it_was_taken_with_and_no_other_file_is_there() -> None:
    found = {
        path.relative_to(VENDOR).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in VENDOR.rglob("*")
        if path.is_file() and path.name != "files.json"
    }
    assert found == listed()


def test_the_folder_is_what_the_table_says(table: ModuleType) -> None:
    wanted = {path for package in table.PACKAGES for path in package.files.values()}
    assert set(listed()) == {*wanted, "README.md"}, "run python scripts/vendor_pages.py"
    readme = (VENDOR / "README.md").read_text(encoding="utf-8")
    for package in table.PACKAGES:
        assert f"| {package.name} | {package.version} | {package.licence} |" in readme
        assert package.integrity.startswith("sha512-")
        assert any(path.endswith("/LICENSE") for path in package.files.values())


@pytest.mark.parametrize("name", sorted(name for name in listed() if name.endswith(".js")))
def test_a_script_imports_only_its_neighbours_and_nothing_from_elsewhere(name: str) -> None:
    script = VENDOR / name
    targets = IMPORT.findall(script.read_text(encoding="utf-8"))
    lost = [target for target in targets if not (script.parent / target).resolve().is_file()]
    assert lost == []


def test_nothing_that_would_put_html_into_a_page_unread_is_there() -> None:
    assert [name for name in listed() if "unsafe" in name] == []


def test_every_library_has_its_reason(table: ModuleType) -> None:
    reasons = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    for package in table.PACKAGES:
        assert f"| {package.name} " in reasons
