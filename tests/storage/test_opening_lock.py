import threading
from pathlib import Path

import pytest
from codekernel.errors import StorageError, VaultUnavailable
from codekernel.storage.file_locks import hold_opening_lock


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
