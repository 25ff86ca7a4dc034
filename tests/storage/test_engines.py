import os
import subprocess
import sys
from pathlib import Path

import pytest
import tantivy
from codekernel.errors import StorageError
from codekernel.storage.engines import (
    LexicalIndexDamaged,
    decode_column,
    encode_column,
    translate_tantivy_errors,
)
from codekernel.storage.lexical_documents import (
    ANALYZER_NAME,
    CHUNK_ID,
    FIELD_WEIGHTS,
    FREQUENCY_INDEX_OPTION,
    PATH_KEY,
    LexicalDocument,
)
from codekernel.storage.lexical_index import LexicalIndex
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).parents[2]
posix_only = pytest.mark.skipif(os.name == "nt", reason="POSIX limits")


def filled(folder: Path) -> None:
    index = LexicalIndex.open(folder, writable=True)
    bodies = (" ".join(f"word{(n * 7 + m) % 900}" for m in range(40)) for n in range(800))
    index.replace("a.py", [LexicalDocument(n, body, "", "") for n, body in enumerate(bodies)])
    index.commit()
    index.close()


def only(folder: Path, pattern: str) -> Path:
    (path,) = folder.glob(pattern)
    return path


@pytest.mark.parametrize("name", ["meta.json", ".managed.json", "*.term", "*.idx", "*.fast"])
@pytest.mark.parametrize("content", [b"", b"{oops"])
def test_a_damaged_file_makes_the_index_unreadable(
    tmp_path: Path, name: str, content: bytes
) -> None:
    filled(tmp_path)
    only(tmp_path, name).write_bytes(content)
    with pytest.raises(LexicalIndexDamaged, match="has to be made anew"):
        LexicalIndex.open(tmp_path, writable=True)


@pytest.mark.parametrize("name", ["meta.json", "*.term", "*.idx", "*.fieldnorm"])
def test_a_missing_file_makes_the_index_unreadable(tmp_path: Path, name: str) -> None:
    filled(tmp_path)
    only(tmp_path, name).unlink()
    with pytest.raises(LexicalIndexDamaged, match="has to be made anew"):
        LexicalIndex.open(tmp_path, writable=True)


def test_damage_that_only_a_search_meets_is_told_as_such(tmp_path: Path) -> None:
    filled(tmp_path)
    postings = only(tmp_path, "*.idx")
    content = bytearray(postings.read_bytes())
    for position in range(0, len(content) - 200, 3):
        content[position] ^= 0xFF
    postings.write_bytes(content)
    index = LexicalIndex.open(tmp_path, writable=False)
    every_word = ["word", *map(str, range(900))]
    with pytest.raises(LexicalIndexDamaged, match="has to be made anew"):
        _ = [index.search([word], 10) for word in every_word]


def test_an_index_of_another_analysis_is_unreadable(tmp_path: Path) -> None:
    filled(tmp_path)
    meta = tmp_path / "meta.json"
    meta.write_text(meta.read_text().replace(ANALYZER_NAME, "spread-0-english"))
    with pytest.raises(LexicalIndexDamaged, match="schema does not match"):
        LexicalIndex.open(tmp_path, writable=True)


def test_an_index_whose_chunks_cannot_be_deleted_one_by_one_is_refused(tmp_path: Path) -> None:
    builder = tantivy.SchemaBuilder()
    for field in FIELD_WEIGHTS:
        builder.add_text_field(
            field, tokenizer_name=ANALYZER_NAME, index_option=FREQUENCY_INDEX_OPTION
        )
    builder.add_text_field(PATH_KEY, tokenizer_name="raw", index_option="basic")
    builder.add_integer_field(CHUNK_ID, fast=True)  # as it was before
    tantivy.Index(builder.build(), path=str(tmp_path))
    with pytest.raises(LexicalIndexDamaged, match="schema does not match"):
        LexicalIndex.open(tmp_path, writable=True)


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(LexicalIndexDamaged):
        LexicalIndex.open(tmp_path, writable=True)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_reading_where_there_is_nothing_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(LexicalIndexDamaged, match="there is none"):
        LexicalIndex.open(tmp_path / "words", writable=False)
    assert list(tmp_path.iterdir()) == []


def test_a_file_where_the_folder_should_be_is_explained(tmp_path: Path) -> None:
    (tmp_path / "words").write_text("in the way")
    with pytest.raises(StorageError, match="file where a folder is needed"):
        LexicalIndex.open(tmp_path / "words", writable=True)


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        ("An IO error occurred: 'No space left on device (os error 28)'", "free some space"),
        ('IoError { io_error: Os { code: 28, kind: StorageFull, message: "x" }', "free some space"),
        ("An IO error occurred: 'Permission denied (os error 13)'", "must be able to read and"),
        ("Failed to acquire Lockfile: LockBusy. None", "another program"),
    ],
)
def test_what_the_system_refused_is_said_for_a_person(
    tmp_path: Path, said: str, sentence: str
) -> None:
    with pytest.raises(StorageError, match=sentence) as caught, translate_tantivy_errors(tmp_path):
        raise ValueError(said)
    assert not isinstance(caught.value, LexicalIndexDamaged)


def test_what_is_not_tantivys_passes() -> None:
    with pytest.raises(KeyboardInterrupt), translate_tantivy_errors(Path()):
        raise KeyboardInterrupt


@posix_only
def test_a_commit_that_the_system_cuts_short_is_explained_and_the_index_goes_on(
    tmp_path: Path,
) -> None:
    code = """
import resource, sys
from pathlib import Path
from codekernel.errors import StorageError
from codekernel.storage.lexical_index import LexicalIndex
from codekernel.storage.lexical_documents import LexicalDocument
index = LexicalIndex.open(Path(sys.argv[1]), writable=True)
index.replace("a.py", [LexicalDocument(1, "needle", "", "")])
index.commit()
most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (3000, most))
try:
    body = " ".join(f"filler{n} needle" for n in range(20_000))
    index.replace("a.py", [LexicalDocument(2, body, "", "")])
    index.commit()
except StorageError as error:
    print(error)
print(index.search(["needle"], 10)[0][0])
resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
index.replace("a.py", [LexicalDocument(3, "needle", "", "")])
index.commit()
print(index.search(["needle"], 10)[0][0], index.document_count)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        cwd=ROOT, capture_output=True, check=True, text=True,
    )  # fmt: skip
    sentence, *found = done.stdout.splitlines()
    assert "ulimit -f" in sentence
    assert found == ["1", "3 1"]


def test_what_a_writer_left_that_died_just_before_its_commit_is_not_in_the_way(
    tmp_path: Path,
) -> None:
    def replace_a(chunk_id: int) -> list[int]:
        index = LexicalIndex.open(tmp_path, writable=True)
        index.replace("a.py", [LexicalDocument(chunk_id, "needle", "", "")])
        index.commit()
        hits = index.search(["needle"], 10)
        index.close()
        return sorted(number for number, _ in hits)

    index = LexicalIndex.open(tmp_path, writable=True)
    index.replace("a.py", [LexicalDocument(1, "needle", "", "")])
    index.replace("b.py", [LexicalDocument(2, "needle", "", "")])
    index.commit()
    index.close()
    committed = (tmp_path / "meta.json").read_bytes()
    assert replace_a(3) == [2, 3]
    # As if it had been killed when all its files but this one were written.
    (tmp_path / "meta.json").write_bytes(committed)
    assert replace_a(4) == [2, 4]


@given(st.text(st.characters(codec=None, exclude_categories=())))
def test_every_string_comes_back(text: str) -> None:
    assert decode_column(encode_column(text)) == text


def test_ordinary_text_is_stored_as_text() -> None:
    assert encode_column("pl\u00e4tze") == "pl\u00e4tze"
    assert isinstance(encode_column("caf\udce9"), bytes)
