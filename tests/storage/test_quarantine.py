from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from codekernel.errors import StorageError
from codekernel.storage.quarantine import quarantine_database

NOON = datetime(2026, 1, 2, 12, 0, 5, tzinfo=UTC)


def fill(folder: Path, content: bytes) -> Path:
    for suffix in ("", "-wal", "-shm"):
        (folder / f"kernel.db{suffix}").write_bytes(content + suffix.encode())
    return folder / "kernel.db"


def test_the_database_and_its_companions_move_together(tmp_path: Path) -> None:
    aside = quarantine_database(
        fill(tmp_path, b"1"), now=NOON.astimezone(timezone(timedelta(hours=5)))
    )
    assert aside == tmp_path / "kernel.db.unreadable-20260102-120005"
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        aside.name: b"1",
        f"{aside.name}-wal": b"1-wal",
        f"{aside.name}-shm": b"1-shm",
    }


def test_a_second_one_in_the_same_second_gets_its_own_name(tmp_path: Path) -> None:
    names = [
        quarantine_database(fill(tmp_path, bytes([number])), now=NOON).name for number in range(3)
    ]
    assert len(set(names)) == 3
    assert [(tmp_path / name).read_bytes() for name in names] == [b"\0", b"\1", b"\2"]


def test_a_name_whose_wal_is_left_over_is_not_used(tmp_path: Path) -> None:
    left_over = tmp_path / "kernel.db.unreadable-20260102-120005-wal"
    left_over.write_bytes(b"old")
    assert quarantine_database(fill(tmp_path, b"1"), now=NOON).name.endswith("-120005-2")
    assert left_over.read_bytes() == b"old"


def test_what_cannot_be_moved_whole_is_moved_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = fill(tmp_path, b"1")
    rename = Path.rename

    def refuse_the_database(path: Path, target: Path) -> Path:
        if path == database:
            raise PermissionError(13, "in use")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", refuse_the_database)
    with pytest.raises(StorageError, match=r"kernel\.db"):
        quarantine_database(database, now=NOON)
    assert {path.name for path in tmp_path.iterdir()} == {
        "kernel.db",
        "kernel.db-wal",
        "kernel.db-shm",
    }
