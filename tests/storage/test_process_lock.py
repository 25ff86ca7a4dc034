import subprocess
import sys
import threading
from pathlib import Path

import pytest
from codekernel.errors import StorageError, VaultUnavailable
from codekernel.storage.process_lock import ProcessLock, hold_opening_lock


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
    thread.join(60)
    lock.release()
    assert seen == [True]


def test_another_process_is_kept_out_until_the_holder_ends(tmp_path: Path) -> None:
    path = tmp_path / "l"
    code = """
import sys
from pathlib import Path
from codekernel.errors import StorageError
from codekernel.storage.process_lock import ProcessLock
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
        start.wait(60)
        with hold_opening_lock(tmp_path / "l"):
            inside.append(1)
            most.append(len(inside))
            inside.pop()

    threads = [threading.Thread(target=enter) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
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
