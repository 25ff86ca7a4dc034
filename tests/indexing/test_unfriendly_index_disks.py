"""A disk that fills up in the middle, or may not be written: told, survived, nothing corrupt."""

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from indexing.followed import Open, static_plan
from support.followed_by_child import Follower, Scribe, settled_index
from support.index_contents import compare

from kernel.errors import StorageError

FILES = 120
LENGTHS = "300"
# No file of an index may grow beyond these; the first stops the catalogue, the others whatever
# comes next, until nothing stands in the way any more.
LIMITS_BYTES = (150_000, 250_000, 400_000)
DISK_BYTES = 6_000_000

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.skipif(sys.platform == "win32", reason="needs limits and mounts of POSIX"),
]


@pytest.fixture
def scribe(tmp_path: Path) -> Scribe:
    scribe = Scribe(tmp_path / "repo", random.Random(3))  # noqa: S311  # the same files each time
    scribe.root.mkdir()
    scribe.begin(FILES)
    return scribe


def system(*words: object) -> bool:
    """Whether a command of the system succeeds."""
    ended = subprocess.run([str(word) for word in words], capture_output=True, check=False)
    return ended.returncode == 0


@contextmanager
def small_disk(place: Path) -> Iterator[Path]:
    """A disk of its own in ``place``, where the tester may mount one."""
    place.mkdir()
    size = f"size={DISK_BYTES}"
    if sys.platform != "linux" or not system("mount", "-t", "tmpfs", "-o", size, "tmpfs", place):
        pytest.skip("only root may mount a disk; the limit on file sizes is tested everywhere")
    try:
        yield place
    finally:
        assert system("umount", "-l", place)


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """Within the block nothing in a folder may be written: by its modes, or for root by a mount."""
    if os.geteuid() == 0:
        if not (system("mount", "--bind", folder, folder)):
            pytest.skip("root may write everywhere, and mount nothing here")
        assert system("mount", "-o", "remount,ro,bind", folder)
        try:
            yield
        finally:
            assert system("umount", "-l", folder)
        return
    places = [folder, *folder.rglob("*")]
    for place in places:
        place.chmod(0o500)
    try:
        yield
    finally:
        for place in places:
            place.chmod(0o700)


def limit_files(size: int) -> None:
    import resource  # noqa: PLC0415 - not on Windows

    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def see_trouble(follower: Follower) -> str:
    assert follower.hear("trouble"), "it settled without trouble"
    said = [line[1] for line in follower.heard if line[0] == "trouble" and line[1:2] != [""]]
    assert said
    return said[-1]


def test_files_that_may_not_grow_are_told_and_nothing_is_corrupt(
    scribe: Scribe, tmp_path: Path
) -> None:
    for limit in LIMITS_BYTES:
        follower = Follower(
            scribe.root, tmp_path / "index", LENGTHS, lambda size=limit: limit_files(size)
        )
        follower.tell("settle")
        assert "cannot be" in see_trouble(follower)
        follower.kill()
        assert [line for line in follower.heard if line[0] == "crash"] == []
        assert list((tmp_path / "index").glob("*.unreadable")) == []
    settled_index(scribe.root, tmp_path / "index", LENGTHS)
    settled_index(scribe.root, tmp_path / "clean", LENGTHS)
    compare(tmp_path / "index", tmp_path / "clean")


def test_a_disk_that_fills_up_is_told_and_once_there_is_room_the_work_goes_on(
    scribe: Scribe, tmp_path: Path
) -> None:
    with small_disk(tmp_path / "disk") as disk:
        for room in (100_000, 400_000, 800_000):
            ballast = disk / "ballast"
            ballast.write_bytes(b"\0" * max(0, free_bytes(disk) - room))
            for _ in range(10):
                scribe.change()
            follower = Follower(scribe.root, disk / "index", LENGTHS)
            follower.tell("settle")
            troubled = follower.hear("trouble")
            ballast.unlink()
            follower.hear("settled", 1)
            follower.kill()
            assert [line for line in follower.heard if line[0] == "crash"] == []
            assert troubled or room > 100_000
            assert list((disk / "index").glob("*.unreadable")) == []
        settled_index(scribe.root, disk / "index", LENGTHS)
        settled_index(scribe.root, tmp_path / "clean", LENGTHS)
        compare(disk / "index", tmp_path / "clean")


def free_bytes(place: Path) -> int:
    found = os.statvfs(place)
    return found.f_bavail * found.f_frsize


def test_an_index_that_may_not_be_written_is_refused_with_advice_and_left_as_it_is(
    open_index: Open,
) -> None:
    followed = open_index(start=False)
    followed.write("a.py", "def heartbeat(): ...\n")
    followed.index.start(static_plan(1500))
    followed.settle()
    followed.close()
    with read_only(followed.folder), pytest.raises(StorageError, match="cannot be"):
        open_index()
    again = open_index()
    again.settle()
    assert again.told == []
    assert again.words("heartbeat") == ["a.py"]


def test_what_stands_in_the_way_of_an_index_is_moved_aside(
    open_index: Open, tmp_path: Path
) -> None:
    in_the_way = tmp_path / "index" / "catalogue.db"
    in_the_way.mkdir(parents=True)
    followed = open_index(start=False)
    assert followed.index.status().state != "read-only"
    assert "moved aside" in followed.index.status().trouble
    assert (tmp_path / "index" / "catalogue.db.unreadable").is_dir()
