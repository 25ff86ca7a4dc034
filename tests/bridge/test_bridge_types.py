"""The files of electron-bridge that are made from Python declarations are up to date."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest
from codekernel.handlers.context import main_router, session_router

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    file = ROOT / "scripts" / "make_bridge_types.py"
    spec = importlib.util.spec_from_file_location("make_bridge_types", file)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_made_files_are_up_to_date(maker: ModuleType) -> None:
    for file, text in maker.generate_files().items():
        written = file.read_text(encoding="utf-8")
        assert written == text, f"{file.name}: run python scripts/make_bridge_types.py"


def test_every_request_has_its_types(maker: ModuleType) -> None:
    text = maker.generate_message_types()
    for name in main_router.routes.keys() | session_router.routes.keys():
        assert f"\n  {name}: {{" in text
        assert f"  type: '{name}';" in text


def test_what_the_kernel_may_leave_out_is_optional(maker: ModuleType) -> None:
    text = maker.generate_message_types()
    for line in (
        "  limit?: number | null;",  # of a request, by its default
        "  isComplete?: boolean;",  # of a reply, unset
        "  why?: Record<string, number>;",  # of a reply, left out if null
        "  chunksPerSecond: number | null;",  # of a reply, always there
        "  type: 'embedding' | 'rerank' | 'generation';",
        "  useCoreML: boolean;",
    ):
        assert f"\n{line}\n" in text


def test_a_further_language_of_the_pages_is_one_file(maker: ModuleType, tmp_path: Path) -> None:
    assert "furtherLanguages = [];" in maker.generate_languages(tmp_path)
    for name in ("de.js", "pt-BR.js", "index.js", "README.md"):
        (tmp_path / name).write_text("", encoding="utf-8")
    made = maker.generate_languages(tmp_path)
    assert "import de from './de.js';\nimport pt_BR from './pt-BR.js';\n" in made
    assert made.endswith("export const furtherLanguages = [de, pt_BR];\n")
