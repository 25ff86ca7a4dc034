import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from codekernel.errors import StorageError, VaultUnavailable
from codekernel.storage.user_data import ProcessLock, UserData, hold_opening_lock, locate_user_data


def test_everything_lies_under_the_root() -> None:
    data = UserData(Path("/data"))
    root = Path("/data")
    assert data.settings_file == root / "settings.json"
    assert data.modified_settings_file == root / "settings-modified.json"
    assert data.database_file == root / "db" / "kernel.db"
    assert data.key_file == root / "db" / "kernel.key"
    assert data.vault_id_file == root / "db" / "vault-id"
    assert data.lock_file == root / "db" / "kernel.lock"
    assert data.conversations_folder == root / "conversations"
    assert data.logs_folder == root / "logs"
    assert data.indexes_folder == root / "index"
    assert data.repo_index_folder(7) == root / "index" / "7"


def test_a_folder_without_registration_has_an_index_named_after_its_path() -> None:
    data = UserData(Path("/data"))
    one, other = (data.folder_index_folder(Path(path)) for path in ("/code/one", "/code/other"))
    assert one == data.folder_index_folder(Path("/code/one"))
    assert one != other
    assert one.parent == data.indexes_folder
    assert re.fullmatch("folder-[0-9a-f]{16}", one.name)


def test_the_argument_wins_then_our_variable_then_the_front_ends(tmp_path: Path) -> None:
    environ = {
        "CODEKERNEL_USER_DATA": str(tmp_path / "ours"),
        "POCKETRAG_USERDATA_PATH": str(tmp_path / "theirs"),
    }
    assert locate_user_data(str(tmp_path / "argument"), environ).root == tmp_path / "argument"
    assert locate_user_data(None, environ).root == tmp_path / "ours"
    del environ["CODEKERNEL_USER_DATA"]
    assert locate_user_data(None, environ).root == tmp_path / "theirs"


def test_an_empty_string_counts_as_absent(tmp_path: Path) -> None:
    environ = {"CODEKERNEL_USER_DATA": "", "POCKETRAG_USERDATA_PATH": str(tmp_path)}
    assert locate_user_data("", environ).root == tmp_path


def test_a_relative_folder_is_made_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert locate_user_data("here", {}).root == tmp_path / "here"


def test_nothing_at_all_means_the_platforms_own_place() -> None:
    root = locate_user_data(None, {}).root
    assert root.is_absolute()
    assert root.name == "codekernel"


@pytest.mark.skipif(os.name == "nt", reason="Windows does not start Python without SYSTEMROOT")
def test_an_empty_environment_is_enough() -> None:
    code = (
        "from codekernel.storage.user_data import locate_user_data; "
        "print(locate_user_data(None, {}).root)"
    )
    project = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", code], env={}, cwd=project, capture_output=True, check=True
    )
    assert Path(os.fsdecode(done.stdout.strip())).is_absolute()


def test_only_one_holds_the_lock(tmp_path: Path) -> None:
    first, second = ProcessLock(tmp_path / "db" / "l"), ProcessLock(tmp_path / "db" / "l")
    assert first.try_acquire_or_log()
    assert not second.try_acquire_or_log()
    assert (first.is_held, second.is_held) == (True, False)
    first.release()
    assert (first.is_held, second.is_held) == (False, False)
    assert second.try_acquire_or_log()
    second.release()


def test_taking_it_twice_needs_one_release(tmp_path: Path) -> None:
    lock = ProcessLock(tmp_path / "l")
    assert lock.try_acquire_or_log()
    assert lock.try_acquire_or_log()
    lock.release()
    assert not lock.is_held


def test_releasing_what_is_not_held_is_harmless(tmp_path: Path) -> None:
    lock = ProcessLock(tmp_path / "l")
    lock.release()
    assert not lock.is_held


def test_every_thread_sees_that_it_is_held(tmp_path: Path) -> None:
    lock = ProcessLock(tmp_path / "l")
    seen: list[bool] = []
    assert lock.try_acquire_or_log()
    thread = threading.Thread(target=lambda: seen.append(lock.is_held))
    thread.start()
    thread.join(5)
    lock.release()
    assert seen == [True]


def test_another_process_is_kept_out_until_the_holder_ends(tmp_path: Path) -> None:
    path = tmp_path / "l"
    code = """
import sys
from pathlib import Path
from codekernel.errors import StorageError
from codekernel.storage.user_data import ProcessLock
lock = ProcessLock(Path(sys.argv[1]))
print(lock.try_acquire_or_log(), flush=True)
sys.stdin.readline()
"""
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path)],
        cwd=Path(__file__).parents[2],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "True\n"
        lock = ProcessLock(path)
        assert not lock.try_acquire_or_log()
        holder.kill()
    assert lock.try_acquire_or_log()
    lock.release()


def test_a_folder_that_cannot_be_used_is_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_bytes(b"")
    lock = ProcessLock(tmp_path / "file" / "db" / "l")
    assert not lock.try_acquire_or_log()
    assert not lock.is_held
    assert f"{tmp_path / 'file' / 'db' / 'l'} cannot be locked" in caplog.text


def test_what_is_no_file_makes_way_for_the_lock(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name in ("folder", "loop"):
        lock = ProcessLock(tmp_path / name)
        assert lock.try_acquire_or_log()
        lock.release()
        assert f"quarantined as {name}.unreadable-" in caplog.text


def test_a_file_in_place_of_the_folder_makes_way(tmp_path: Path) -> None:
    (tmp_path / "db").write_bytes(b"not a folder")
    lock = ProcessLock(tmp_path / "db" / "l")
    assert lock.try_acquire_or_log()
    lock.release()
    (aside,) = tmp_path.glob("db.unreadable-*")
    assert aside.read_bytes() == b"not a folder"


def test_taking_says_why_it_cannot_be_done(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageError, match="is a file where a folder is needed"):
        ProcessLock(tmp_path / "file" / "db" / "l").try_acquire()


def test_one_opens_while_the_others_wait(tmp_path: Path) -> None:
    inside: list[int] = []
    most: list[int] = []
    start = threading.Barrier(4)

    def enter() -> None:
        start.wait(5)
        with hold_opening_lock(tmp_path / "l"):
            inside.append(1)
            most.append(len(inside))
            inside.pop()

    threads = [threading.Thread(target=enter) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert most == [1, 1, 1, 1]


def test_waiting_has_an_end(tmp_path: Path) -> None:
    path = tmp_path / "l"
    refused = pytest.raises(VaultUnavailable, match="Another codekernel")
    with hold_opening_lock(path), refused, hold_opening_lock(path, timeout_seconds=0.05):
        raise NotImplementedError
    with hold_opening_lock(tmp_path / "l"):
        pass


def test_a_lock_file_that_cannot_be_made_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageError, match="file"), hold_opening_lock(tmp_path / "file" / "l"):
        raise NotImplementedError
