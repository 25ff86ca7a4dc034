import errno
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from codekernel.errors import StorageError
from codekernel.storage.safe_files import create_file_atomically, write_bytes_atomically

posix_only = pytest.mark.skipif(os.name == "nt", reason="POSIX modes, links and limits")


def test_a_file_is_written_into_a_folder_made_for_it(tmp_path: Path) -> None:
    path = tmp_path / "conversations" / "conversation-1.json"
    write_bytes_atomically(path, "h\u00e9llo\r\n\n".encode())
    assert path.read_bytes() == "h\u00e9llo\r\n\n".encode()


def test_a_file_is_replaced_and_nothing_is_left_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    write_bytes_atomically(path, b"old" * 1000)
    write_bytes_atomically(path, b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    folder_in_the_way = tmp_path / "settings.json"
    (folder_in_the_way / "full").mkdir(parents=True)
    with pytest.raises(StorageError, match=r"settings\.json"):
        write_bytes_atomically(folder_in_the_way, b"new")
    assert list(tmp_path.iterdir()) == [folder_in_the_way]


def test_a_folder_that_cannot_be_made_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageError, match="is a file where a folder is needed"):
        write_bytes_atomically(tmp_path / "file" / "settings.json", b"new")


@posix_only
def test_readers_see_the_old_or_the_new_content_and_never_half(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    contents = {b"a" * 100_000, b"b" * 100_000}
    write_bytes_atomically(path, b"a" * 100_000)
    ended = threading.Event()

    def write() -> None:
        for _ in range(20):
            for content in contents:
                write_bytes_atomically(path, content)
        ended.set()

    writer = threading.Thread(target=write)
    writer.start()
    while not ended.is_set():
        assert path.read_bytes() in contents
    writer.join(5)


@posix_only
def test_the_mode_holds_from_the_start(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    before = os.umask(0)
    try:
        write_bytes_atomically(path, b"x", mode=0o600)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@posix_only
def test_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "dotfiles.json", tmp_path / "settings.json"
    real.write_bytes(b"old")
    link.symlink_to(real)
    write_bytes_atomically(link, b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"


def test_creating_never_replaces(tmp_path: Path) -> None:
    path = tmp_path / "kernel.key"
    assert create_file_atomically(path, b"first", mode=0o600)
    assert not create_file_atomically(path, b"second", mode=0o600)
    assert path.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [path]


@posix_only
def test_creating_works_on_a_file_system_without_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(source: str, target: str, **_: object) -> None:
        raise PermissionError(errno.EPERM, "no links here", source, None, target)

    monkeypatch.setattr(os, "link", refuse)
    path = tmp_path / "kernel.key"
    assert create_file_atomically(path, b"first")
    assert not create_file_atomically(path, b"second")
    assert path.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [path]


def test_creating_where_no_folder_can_be_is_explained(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(StorageError, match="kernel"):
        create_file_atomically(tmp_path / "file" / "kernel.key", b"x")


@posix_only
def test_a_write_cut_short_by_the_system_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(b"old")
    code = """
import resource, sys
from pathlib import Path
from codekernel.errors import StorageError
from codekernel.storage.safe_files import write_bytes_atomically
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_bytes_atomically(Path(sys.argv[1]), b"n" * 5000)
except StorageError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        check=True,
        text=True,
    )
    assert "ulimit -f" in done.stdout
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
