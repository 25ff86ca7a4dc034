"""Files that nobody wrote by hand, or only to hurt."""

import threading
from pathlib import Path

import pytest
from chunking.samples import LANGUAGES
from codekernel.chunking.chunker import chunk_text
from codekernel.chunking.outline import MAX_PARSED_SIZE, split_lines
from codekernel.chunking.outliner import outline_syntax
from codekernel.domain.index import Chunk, detect_language

ROOT = Path(__file__).parents[2]
BUDGETS = [300, 1500]
CODE = "def f():\n    return 1\n\n\n"
HOSTILE = {
    "nested brackets": "[" * 100_000 + "]" * 100_000,
    "nested on lines": "(\n" * 30_000 + ")\n" * 30_000,
    "never closed": '{"a": ' * 30_000,
    "one column of a million": "x=1;" * 250_000,
    "a long word": "a" * 300_000,
    "nothing but NULs": "\x00" * 10_000,
    "code with NULs": CODE.replace(" ", "\x00") * 100,
    "lone surrogates": "x = '\ud800'\ny = '\udfff\ud83d\ude00'\n" * 500,
    "carriage returns": "def f():\r    return 1\r" * 2_000,
    "mixed newlines": "a = 1\rb = 2\r\nc = 3\nd = 4\n\r\n" * 500,
    "a byte order mark": "\ufeff" + CODE * 200,
    "white space": " \n\t\n" * 5_000,
    "garbage": "<a({[%$\"'`\\" * 4_000,
}


def check(text: str, language: str) -> list[Chunk]:
    """Cut it, see that nothing is missing and nothing too long; all the chunks."""
    cuts = chunk_text(text, language, BUDGETS)
    for budget, chunks in zip(BUDGETS, cuts, strict=True):
        assert "".join(text[chunk.begin : chunk.end] for chunk in chunks) == text
        assert max(chunk.end - chunk.begin for chunk in chunks) <= budget
        assert chunks[-1].end_line == text.count("\n") + (not text.endswith("\n"))
    return [chunk for chunks in cuts for chunk in chunks]


@pytest.mark.slow
@pytest.mark.parametrize("language", ["python", "javascript", "cpp", "json", "markdown", "text"])
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_are_cut_all_the_same(name: str, language: str) -> None:
    check(HOSTILE[name], language)


@pytest.mark.slow
@pytest.mark.parametrize("language", LANGUAGES)
def test_no_grammar_is_hurt_by_garbage_or_depth(language: str) -> None:
    check(HOSTILE["garbage"], language)
    check(HOSTILE["nested brackets"], language)


def test_a_byte_order_mark_hides_no_definition() -> None:
    [chunks] = chunk_text("\ufeff" + CODE, "python", [100])
    assert [chunk.defined_names for chunk in chunks] == [("f",)]


@pytest.mark.slow
def test_a_text_of_ten_megabytes_is_cut_by_its_lines() -> None:
    text = CODE * (10_000_000 // len(CODE))
    assert len(text) > MAX_PARSED_SIZE
    assert {chunk.kind for chunk in check(text, "python")} == {"lines"}


def test_a_parse_that_takes_too_long_is_given_up() -> None:
    lines = split_lines(CODE * 20)
    assert outline_syntax(lines, "python", 100, timeout_seconds=-1.0) is None
    outline = outline_syntax(lines, "python", 100)
    assert outline
    assert outline.definitions


@pytest.mark.slow
def test_our_own_files_are_cut() -> None:
    files = [
        path
        for folder in ("kernel", "tests", "scripts", "docs")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".md", ".json", ".toml", ".yml"} and path.stat().st_size
    ]
    assert len(files) > 100
    for path in files:
        check(path.read_bytes().decode(errors="replace"), detect_language(path.name))


def test_threads_cut_at_the_same_time_and_agree() -> None:
    text = (ROOT / "kernel" / "codekernel" / "chunking" / "outliner.py").read_text(encoding="utf-8")
    expected = chunk_text(text, "python", BUDGETS)
    results: list[bool] = []

    def work() -> None:
        results.extend(chunk_text(text, "python", BUDGETS) == expected for _ in range(10))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 40
