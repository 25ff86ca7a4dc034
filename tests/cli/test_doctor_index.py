"""What the doctor says of indexes that are damaged, and what ``--fix`` does about it."""

from pathlib import Path

import numpy as np
import pytest
from codekernel.cli.commands.doctor import run_doctor
from codekernel.storage.file_locks import ProcessLock
from codekernel.storage.index_examination import find_index_damage
from codekernel.storage.index_store import WRITER_LOCK_FILE, open_index
from codekernel.storage.lexical.schema import LexicalDocument
from codekernel.storage.user_data import UserData
from codekernel.storage.vectors.vector_table import VectorTable
from support.kernel_process import bare_environment

NAME = "folder-0123456789abcdef"


@pytest.fixture
def folder(user_data: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An index with a word and a vector in it."""
    for name, value in bare_environment(user_data).items():
        monkeypatch.setenv(name, value)
    folder = UserData(user_data).indexes_folder / NAME
    store = open_index(folder)
    store.lexical.replace("a.py", [LexicalDocument(1, "a body", "name", "a.py")])
    with store.active_writer.begin_batch() as batch:
        batch.set_lexical_opstamp(store.lexical.commit())
    store.close()
    table = VectorTable.open(folder / "vectors" / "model-600", 8)
    table.add([1, 2], np.eye(8)[:2])
    table.close()
    return folder


def run(user_data: Path, capsys: pytest.CaptureFixture[str], *, fix: bool = False) -> list[str]:
    """The lines about indexes, after the code that the doctor ends with."""
    code = run_doctor(str(user_data), fix=fix)
    lines = capsys.readouterr().out.splitlines()
    return [str(code), *(line for line in lines if "index of" in line)]


def flip(file: Path, place: int = 60) -> None:
    content = bytearray(file.read_bytes())
    content[place % len(content)] ^= 4
    file.write_bytes(content)


def test_a_whole_index_is_said_to_be_in_order(
    folder: Path, user_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, line = run(user_data, capsys)
    assert code == "0"
    assert line == f"ok: index of {NAME}: 0 files, 0 chunks, 0 left out"


@pytest.mark.parametrize("part", ["catalogue.db", "words", "vectors", "calls.db", "writer.lock"])
def test_each_part_that_is_damaged_is_named_and_fixed_on_demand(
    folder: Path, user_data: Path, capsys: pytest.CaptureFixture[str], part: str
) -> None:
    if part == "words":
        flip(next(folder.glob("words/*.idx")))
    elif part == "vectors":
        (data,) = folder.glob("vectors/*/rows.lance/data/*.lance")
        flip(data, data.read_bytes().index(np.float16(1).tobytes()))
    elif part == "writer.lock":
        (folder / part).unlink(missing_ok=True)
        (folder / part).mkdir()
    elif part == "calls.db":
        (folder / part).mkdir()
    else:
        flip(folder / part, 5000)
    code, *lines = run(user_data, capsys)
    assert code == "1"
    assert any(line.startswith("PROBLEM") and part in line for line in lines), lines
    assert not list(folder.rglob("*.unreadable*"))  # looking changes nothing
    code, *lines = run(user_data, capsys, fix=True)
    assert code == "0"
    assert any("rebuilt when the index is next opened" in line for line in lines), lines
    assert find_index_damage(folder) == []
    open_index(folder).close()
    assert run(user_data, capsys)[0] == "0"


def test_what_a_running_kernel_keeps_is_left_to_it(
    folder: Path, user_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flip(folder / "catalogue.db", 5000)
    lock = ProcessLock(folder / WRITER_LOCK_FILE)
    assert lock.try_acquire()
    lines = run(user_data, capsys, fix=True)
    lock.release()
    assert any("is running keeps it" in line for line in lines)
    assert not list(folder.rglob("*.unreadable*"))
