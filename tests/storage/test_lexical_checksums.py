"""The checksums that tantivy writes are ours to compare: any flipped bit is noticed."""

import random
from pathlib import Path

import pytest
from codekernel.storage.engine_errors import LexicalIndexDamaged
from codekernel.storage.lexical.lexical_index import LexicalIndex, read_opstamp, verify_lexical
from codekernel.storage.lexical.schema import LexicalDocument

FOOTER = -95  # where at the earliest it begins


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    index = LexicalIndex.open(tmp_path, writable=True)
    for number in range(40):
        document = LexicalDocument(number, f"body of number {number}", "name", f"f{number}.py")
        index.replace(f"f{number}.py", [document])
    index.commit()
    index.replace("f1.py", [])  # so that there is a list of deletions too
    stamp = index.commit()
    index.close()
    assert read_opstamp(tmp_path) == stamp
    return tmp_path


def live_files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.iterdir() if file.suffix not in {".lock", ".json"})


def test_a_whole_index_is_found_to_be_whole(folder: Path) -> None:
    verify_lexical(folder)
    assert {file.suffix for file in live_files(folder)} >= {".idx", ".term", ".fast", ".del"}


def test_any_flipped_bit_is_noticed(folder: Path) -> None:
    chance = random.Random(3)  # noqa: S311
    for file in live_files(folder):
        content = file.read_bytes()
        for _ in range(20):
            damaged = bytearray(content)
            damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
            file.write_bytes(damaged)
            try:
                verify_lexical(folder)
            except LexicalIndexDamaged:
                continue
            # The version of tantivy stands in the footer, and nothing is read by it.
            assert damaged[:FOOTER] == content[:FOOTER]
        file.write_bytes(content)
    verify_lexical(folder)


@pytest.mark.parametrize("deed", ["missing", "short", "empty", "meta"])
def test_what_is_missing_or_short_is_noticed(folder: Path, deed: str) -> None:
    file = live_files(folder)[0]
    if deed == "missing":
        file.unlink()
    elif deed == "meta":
        (folder / "meta.json").write_text('{"segments": [{"segment_id": 5}]}', encoding="utf-8")
    else:
        file.write_bytes(file.read_bytes()[:-20] if deed == "short" else b"")
    with pytest.raises(LexicalIndexDamaged):
        verify_lexical(folder)
