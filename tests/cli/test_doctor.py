"""What doctor reports of user files, indexes and privacy, and what ``--fix`` does about it."""

import json
import os
import sys
from argparse import Namespace
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from codekernel.cli.commands.doctor import examine_privacy, run_doctor
from codekernel.storage.index_examination import find_index_damage
from codekernel.storage.index_store import open_index
from codekernel.storage.lexical_documents import LexicalDocument
from codekernel.storage.process_lock import ProcessLock
from codekernel.storage.user_data import WRITER_LOCK_FILE, UserData
from codekernel.storage.vault.vault import Vault
from codekernel.storage.vectors.vector_table import VectorTable
from support.kernel_process import bare_environment
from support.shared_kernel import set_variables


def check_installation(user_data: str, *, fix: bool = False) -> int:
    return run_doctor(Namespace(user_data=user_data, fix=fix))


def test_a_damaged_conversation_is_named_and_the_exit_code_says_so(
    user_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (user_data / "conversations").mkdir()
    (user_data / "conversations" / "conversation-7.json").write_text('{"history": [', "utf-8")
    assert check_installation(str(user_data)) == 1
    assert "PROBLEM: conversations/conversation-7.json" in capsys.readouterr().out


@pytest.mark.skipif(sys.platform == "win32", reason="pipes have no names there")
def test_fix_moves_a_pipe_in_the_place_of_a_log_aside(
    user_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (user_data / "logs").mkdir()
    os.mkfifo(user_data / "logs" / "kernel.log")
    assert check_installation(str(user_data)) == 1
    assert check_installation(str(user_data), fix=True) == 0
    assert not (user_data / "logs" / "kernel.log").exists()
    assert "moved aside: logs/kernel.log.unreadable" in capsys.readouterr().out


def test_files_that_can_be_read_are_reported_as_ok(
    user_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check_installation(str(user_data)) == 0
    assert "ok: conversations, sessions and logs: all can be read" in capsys.readouterr().out


def test_the_programs_of_foreign_agents_are_looked_for(
    user_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    agents = [
        {"name": "there", "command": sys.executable},
        {"name": "gone", "command": "no-such-agent"},
    ]
    (user_data / "settings.json").write_text(json.dumps({"agents": agents}), "utf-8")
    assert check_installation(str(user_data)) == 1
    said = capsys.readouterr().out
    assert f"ok: agent there: {sys.executable}" in said
    assert "PROBLEM: agent gone cannot be started: there is no program 'no-such-agent'" in said


NAME = "folder-0123456789abcdef"


@pytest.fixture
def folder(user_data: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An index with a word and a vector in it."""
    set_variables(monkeypatch, bare_environment(user_data))
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
    code = check_installation(str(user_data), fix=fix)
    lines = capsys.readouterr().out.splitlines()
    return [str(code), *(line for line in lines if "index of" in line)]


def flip(file: Path, place: int = 60) -> None:
    content = bytearray(file.read_bytes())
    content[place % len(content)] ^= 4
    file.write_bytes(content)


def test_an_intact_index_is_reported_as_ok(
    folder: Path, user_data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, line = run(user_data, capsys)
    assert code == "0"
    assert line == f"ok: index of {NAME}: 0 files, 0 chunks, 0 left out"


def slow(part: str) -> object:
    """A part that is examined again after a while, in case a process is at work on it."""
    return pytest.param(part, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    "part", [slow("catalogue.db"), slow("words"), slow("vectors"), "calls.db", "writer.lock"]
)
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


@pytest.mark.slow
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


needs_modes = pytest.mark.skipif(os.name == "nt", reason="Windows has access lists, not modes")


def findings(folder: Path) -> list[tuple[bool, str]]:
    user_data = UserData(folder)
    with closing(Vault(user_data, {}, may_quarantine=lambda: False)) as vault:
        return list(examine_privacy(user_data, vault))


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    return folder


@needs_modes
def test_a_folder_that_the_next_start_closes_is_no_problem_and_stays_as_it_is(
    user_data: Path,
) -> None:
    user_data.chmod(0o755)
    ((is_problem, finding),) = findings(user_data)
    assert not is_problem
    assert "the next start closes it" in finding
    assert user_data.stat().st_mode & 0o777 == 0o755


@needs_modes
def test_a_folder_that_is_shared_is_a_problem(home: Path, user_data: Path) -> None:
    home.chmod(0o755)
    ((is_problem, finding),) = findings(home)
    assert is_problem
    assert "--user-data" in finding
    user_data.chmod(0o700)
    assert findings(user_data) == [(False, "privacy: userData is open to its owner alone")]


@needs_modes
def test_what_onnxruntime_left_is_named_and_not_deleted(
    home: Path, user_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user_data.chmod(0o700)
    left = home / ".cache" / "Microsoft" / "DeveloperTools" / ".onnxruntime"
    left.mkdir(parents=True)
    (left / "deviceid").touch()
    _, (is_problem, finding) = findings(user_data)
    assert not is_problem
    assert str(left) in finding
    assert (left / "deviceid").exists()
    monkeypatch.setenv("XDG_CACHE_HOME", str(home / "elsewhere"))
    (home / "elsewhere" / "Microsoft" / "DeveloperTools" / ".onnxruntime").mkdir(parents=True)
    assert len(findings(user_data)) == 3
