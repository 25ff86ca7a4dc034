import os
import sys
from pathlib import Path

import pytest
from codekernel.errors import StorageError
from codekernel.storage.conversation_files import (
    MirrorPathRejected,
    read_mirror,
    remove_mirror,
    write_mirror,
)

NAME = "conversation-1.json"
posix_alone = pytest.mark.skipif(sys.platform == "win32", reason="links need a right there")


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / NAME).write_bytes(b"theirs")
    return folder


def test_what_is_written_can_be_read_and_removed(repo: Path) -> None:
    assert read_mirror(repo, NAME) is None
    write_mirror(repo, NAME, b"one")
    write_mirror(repo, NAME, b"two")
    assert read_mirror(repo, NAME) == b"two"
    assert [path.name for path in (repo / ".PocketRAG" / "conversation").iterdir()] == [NAME]
    remove_mirror(repo, NAME)
    remove_mirror(repo, NAME)
    assert read_mirror(repo, NAME) is None


@posix_alone
@pytest.mark.parametrize("depth", [0, 1])
def test_a_link_on_the_way_is_never_followed(repo: Path, outside: Path, depth: int) -> None:
    if depth:
        (repo / ".PocketRAG").mkdir()
        (repo / ".PocketRAG" / "conversation").symlink_to(outside)
    else:
        (outside / "conversation").mkdir()
        (repo / ".PocketRAG").symlink_to(outside)
    with pytest.raises(MirrorPathRejected):
        write_mirror(repo, NAME, b"ours")
    assert read_mirror(repo, NAME) is None
    remove_mirror(repo, NAME)
    assert (outside / NAME).read_bytes() == b"theirs"
    assert [*outside.rglob("*.tmp")] == []


@posix_alone
def test_a_file_that_is_a_link_is_replaced_and_not_followed(repo: Path, outside: Path) -> None:
    place = repo / ".PocketRAG" / "conversation"
    place.mkdir(parents=True)
    (place / NAME).symlink_to(outside / NAME)
    assert read_mirror(repo, NAME) is None
    write_mirror(repo, NAME, b"ours")
    assert not (place / NAME).is_symlink()
    assert (outside / NAME).read_bytes() == b"theirs"


@posix_alone
def test_a_pipe_in_the_mirror_is_not_waited_for(repo: Path) -> None:
    place = repo / ".PocketRAG" / "conversation"
    place.mkdir(parents=True)
    os.mkfifo(place / NAME)
    assert read_mirror(repo, NAME) is None


def test_a_file_in_the_place_of_the_folder_is_refused(repo: Path) -> None:
    (repo / ".PocketRAG").write_text("mine", encoding="utf-8")
    with pytest.raises((StorageError, OSError)):
        write_mirror(repo, NAME, b"ours")
    assert (repo / ".PocketRAG").read_text(encoding="utf-8") == "mine"
