"""Documents that cannot rot: links lead somewhere, dependencies have reasons, locks are whole."""

import re
import tomllib
from pathlib import Path

import pytest
from codekernel.cli.arguments import build_parser

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "kernel" / "codekernel"
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("*/README.md")])
# What a person reads before they try it; the rest is in docs/.
MAX_README_WORDS = 900
MAX_TOUR_BYTES = 3_000_000
LOCKS = sorted(ROOT.glob("requirements*.lock"))


def requirement_names() -> list[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    return sorted({re.split(r"[\[<>=;! ]", requirement)[0] for requirement in wanted})


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_link_leads_somewhere(document: Path) -> None:
    targets = re.findall(r"\]\(([^)#]+)[^)]*\)", document.read_text(encoding="utf-8"))
    inside = [target for target in targets if "://" not in target]
    assert [target for target in inside if not (document.parent / target).exists()] == []


@pytest.mark.parametrize("name", requirement_names())
def test_every_dependency_has_its_reason(name: str) -> None:
    reasons = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    assert re.search(rf"\b{re.escape(name)}\b", reasons)


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_locks_pin_every_package_with_hashes_and_hold_no_address(lock: Path) -> None:
    text = lock.read_text(encoding="utf-8")
    assert "://" not in text
    packages = [line for line in text.splitlines() if re.match(r"^[a-z0-9]", line)]
    assert packages
    assert all("==" in line and line.endswith("\\") for line in packages)


def test_the_development_lock_holds_every_package_that_is_asked_for() -> None:
    text = (ROOT / "requirements-dev.lock").read_text(encoding="utf-8")
    pinned = set(re.findall(r"^([a-z0-9-]+)", text, re.MULTILINE))
    assert set(requirement_names()) <= pinned


def test_the_architecture_document_names_every_package_and_no_missing_file() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    packages = [path.parent.name for path in PACKAGE.glob("*/__init__.py")]
    assert [package for package in packages if f"{package}/" not in text] == []
    named = re.findall(r"\b((?:\w+/)+\w+\.py)\b", text)
    places = (PACKAGE, ROOT)
    assert [path for path in named if not any((place / path).exists() for place in places)] == []


def test_the_glossary_is_short() -> None:
    glossary = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("## Glossary")[2]
    assert 10 < len(re.findall(r"^\| ", glossary, re.MULTILINE)) <= 30


def test_each_package_lists_its_modules_and_no_missing_one() -> None:
    for file in PACKAGE.rglob("__init__.py"):
        listed = re.findall(r"^    (\w+\.py)\b", file.read_text(encoding="utf-8"), re.MULTILINE)
        there = {path.name for path in file.parent.glob("*.py")} - {"__init__.py"}
        assert not listed or set(listed) == there, file


def test_continuous_integration_runs_the_one_test_command_on_every_supported_python() -> None:
    text = (ROOT / ".github" / "workflows" / "test.yml").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    supported = re.findall(r":: (3\.\d+)", "\n".join(project["classifiers"]))
    assert re.findall(r"'(3\.\d+)'", text) == supported
    assert all(system in text for system in ("ubuntu", "macos", "windows"))
    assert re.findall(r"- run: (.+)", text) == ["python scripts/test.py"]


def test_every_command_is_described() -> None:
    (commands,) = (action for action in build_parser()._actions if isinstance(action.choices, dict))
    described = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")
    missing = [name for name in commands.choices or () if f"`codekernel {name}" not in described]
    assert missing == []


def test_the_front_page_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").split()) < MAX_README_WORDS


def test_the_moving_picture_is_light_and_short() -> None:
    content = (ROOT / "docs" / "pictures" / "tour.webp").read_bytes()
    assert len(content) <= MAX_TOUR_BYTES
    # Of each frame of a WebP: position and size, then the milliseconds.
    frames = [found.end() for found in re.finditer(b"ANMF....", content, re.DOTALL)]
    milliseconds = [int.from_bytes(content[at + 12 : at + 15], "little") for at in frames]
    assert 10_000 <= sum(milliseconds) <= 15_000


def test_every_picture_is_shown_by_a_document() -> None:
    pictures = {path.name for path in (ROOT / "docs").glob("*/*.png")}
    pictures |= {path.name for path in (ROOT / "docs").glob("*/*.svg")}
    pictures |= {path.name for path in (ROOT / "docs").glob("*/*.webp")}
    texts = [path.read_text(encoding="utf-8") for path in (*DOCUMENTS, *ROOT.glob("models/*/*.md"))]
    assert [name for name in sorted(pictures) if not any(name in text for text in texts)] == []


def test_every_test_that_a_document_names_exists() -> None:
    sources = "\n".join(
        path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("test_*.py")
    )
    for document in DOCUMENTS:
        named = re.findall(r"`(?:test_\w+\.py::)?(test_\w+)`", document.read_text(encoding="utf-8"))
        missing = [name for name in named if f"def {name}(" not in sources]
        assert missing == [], document
