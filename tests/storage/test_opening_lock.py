import threading
from pathlib import Path

import pytest

from kernel.errors import StorageError, VaultUnavailable
from kernel.storage import opening_lock as module
from kernel.storage.opening_lock import opening_lock


def test_one_opens_while_the_others_wait(tmp_path: Path) -> None:
    inside: list[int] = []
    most: list[int] = []
    start = threading.Barrier(4)

    def enter() -> None:
        start.wait(5)
        with opening_lock(tmp_path / "l"):
            inside.append(1)
            most.append(len(inside))
            inside.pop()

    threads = [threading.Thread(target=enter) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert most == [1, 1, 1, 1]


def test_waiting_has_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WAIT_LIMIT_SECONDS", 0.05)
    path = tmp_path / "l"
    refused = pytest.raises(VaultUnavailable, match="Another codekernel")
    with opening_lock(path), refused, opening_lock(path):
        raise NotImplementedError
    with opening_lock(tmp_path / "l"):
        pass


def test_a_lock_file_that_cannot_be_made_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageError, match="file"), opening_lock(tmp_path / "file" / "l"):
        raise NotImplementedError
