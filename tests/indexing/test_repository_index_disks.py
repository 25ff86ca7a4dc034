"""A disk that fills up in the middle, or may not be written: told, survived, nothing corrupt."""

import random
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from codekernel.indexing.index_plan import IndexPlan, IndexTimings
from codekernel.storage.engines import is_opened_exclusively
from indexing.harness import Open, static_plan
from support.index_contents import compare
from support.indexer_process import IndexerProcess, RandomEditor, index_until_idle
from support.small_disk import read_only, small_disk

FILES = 120
LENGTHS = "300"
# No file of an index may grow beyond these; the first stops the catalogue, the others whatever
# comes next, until nothing stands in the way any more.
LIMITS_BYTES = (150_000, 250_000, 400_000)
DISK_BYTES = 6_000_000
COUNT_FILES = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1], timeout=30)
print(database.execute("SELECT count(*) FROM file").fetchone()[0])
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform == "win32", reason="needs limits and mounts of POSIX"),
]


@pytest.fixture
def timings() -> IndexTimings:
    return IndexTimings(embed_retry=0.1)


@pytest.fixture
def scribe(tmp_path: Path) -> RandomEditor:
    scribe = RandomEditor(tmp_path / "repo", random.Random(3))  # noqa: S311  # the same files each time
    scribe.root.mkdir()
    scribe.begin(FILES)
    return scribe


def limit_files(size: int) -> None:
    import resource  # noqa: PLC0415 - not on Windows

    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def see_trouble(follower: IndexerProcess) -> str:
    assert follower.wait_for_line("trouble"), "it settled without trouble"
    said = [line[1] for line in follower.lines if line[0] == "trouble" and line[1:2] != [""]]
    assert said
    return said[-1]


def test_files_that_may_not_grow_are_told_and_nothing_is_corrupt(
    scribe: RandomEditor, tmp_path: Path
) -> None:
    for limit in LIMITS_BYTES:
        follower = IndexerProcess(
            scribe.root, tmp_path / "index", LENGTHS, partial(limit_files, limit)
        )
        follower.send("settle")
        assert "cannot be" in see_trouble(follower)
        follower.kill()
        assert [line for line in follower.lines if line[0] == "crash"] == []
        assert list((tmp_path / "index").glob("*.unreadable")) == []
    index_until_idle(scribe.root, tmp_path / "index", LENGTHS)
    index_until_idle(scribe.root, tmp_path / "clean", LENGTHS)
    compare(tmp_path / "index", tmp_path / "clean")


def test_a_disk_that_fills_up_is_told_and_once_there_is_room_the_work_goes_on(
    scribe: RandomEditor, tmp_path: Path
) -> None:
    with small_disk(tmp_path / "disk", DISK_BYTES) as made:
        disk = made.place
        for room in (100_000, 400_000, 800_000):
            made.fill(room)
            for _ in range(10):
                scribe.change()
            follower = IndexerProcess(scribe.root, disk / "index", LENGTHS)
            follower.send("settle")
            troubled = follower.wait_for_line("trouble")
            made.free()
            follower.wait_for_line("settled", 1)
            follower.kill()
            assert [line for line in follower.lines if line[0] == "crash"] == []
            assert troubled or room > 100_000
            assert list((disk / "index").glob("*.unreadable")) == []
        index_until_idle(scribe.root, disk / "index", LENGTHS)
        index_until_idle(scribe.root, tmp_path / "clean", LENGTHS)
        compare(disk / "index", tmp_path / "clean")


def test_an_index_that_may_not_be_written_is_searched_as_it_is_and_says_why(
    open_index: Open,
) -> None:
    harness = open_index(start=False)
    harness.write("a.py", "def heartbeat(): ...\n")
    harness.index.start(static_plan(1500))
    harness.wait_until_idle()
    harness.close()
    with read_only(harness.folder):
        reading = open_index()
        assert reading.search_lexical("heartbeat") == ["a.py"]
        status = reading.index.get_status()
        assert status.state == "trouble"
        assert "cannot be" in status.trouble
        reading.close()
    again = open_index()
    again.wait_until_idle()
    assert again.reports == []
    assert again.search_lexical("heartbeat") == ["a.py"]


@pytest.mark.parametrize("kind", ["bytes", "names"])
def test_an_index_is_opened_and_searched_on_a_full_disk_and_goes_on_when_there_is_room(
    open_index: Open, tmp_path: Path, kind: str
) -> None:
    with small_disk(tmp_path / "index", DISK_BYTES, files=300) as disk:
        harness = open_index(start=False)
        harness.write("a.py", "def heartbeat(): ...\n")
        harness.index.start(static_plan(1500))
        harness.wait_until_idle()
        harness.close()
        disk.fill() if kind == "bytes" else disk.fill_names()
        harness.write("b.py", "def pulse(): ...\n")
        reopened = open_index()
        assert reopened.search_lexical("heartbeat") == ["a.py"]
        reopened.wait_until(lambda: bool(reopened.index.get_status().trouble), "trouble")
        status = reopened.index.get_status()
        assert ("disk is full" in status.trouble, status.cause) == (True, "full-disk")
        assert reopened.search_lexical("heartbeat") == ["a.py"]
        disk.free()
        reopened.wait_until_idle()
        status = reopened.index.get_status()
        assert (status.trouble, status.cause) == ("", "")
        assert reopened.search_lexical("pulse") == ["b.py"]
        path = disk.place / "catalogue.db"
        reopened.wait_until(lambda: not is_opened_exclusively(path), "open as usual")
        reopened.wait_until_idle()
        counted = subprocess.run(
            [sys.executable, "-c", COUNT_FILES, path],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert counted.stdout.strip() == "2", counted.stderr
        assert reopened.search_lexical("pulse") == ["b.py"]
        reopened.close()


def test_vectors_that_could_not_be_begun_are_as_soon_as_there_is_room(
    open_index: Open, tmp_path: Path
) -> None:
    with small_disk(tmp_path / "index", DISK_BYTES) as disk:
        harness = open_index(start=False)
        harness.write("a.py", "def heartbeat(): ...\n")
        harness.index.start(IndexPlan())
        harness.wait_until_idle()
        disk.fill()
        harness.index.reconfigure(static_plan(1500))
        harness.wait_until(
            lambda: any("full" in each.trouble for each in harness.index.get_status().configs),
            "trouble",
        )
        disk.free()
        harness.wait_until(lambda: harness.count_vectors() == [1], "vectors")
        assert not any(each.trouble for each in harness.index.get_status().configs)
        harness.close()


def test_an_index_that_cannot_be_begun_on_a_full_disk_is_as_soon_as_there_is_room(
    open_index: Open, tmp_path: Path
) -> None:
    with small_disk(tmp_path / "index", DISK_BYTES) as disk:
        disk.fill()
        harness = open_index()
        harness.write("a.py", "def heartbeat(): ...\n")
        assert harness.index.get_status().state == "trouble"
        assert "full" in harness.index.get_status().trouble
        assert harness.search_lexical("heartbeat") == []
        disk.free()
        harness.wait_until_idle()
        assert harness.index.get_status().trouble == ""
        assert harness.search_lexical("heartbeat") == ["a.py"]
        harness.close()


def test_what_stands_in_the_way_of_an_index_is_moved_aside(
    open_index: Open, tmp_path: Path
) -> None:
    in_the_way = tmp_path / "index" / "catalogue.db"
    in_the_way.mkdir(parents=True)
    harness = open_index(start=False)
    assert harness.index.get_status().state != "read-only"
    assert "moved aside" in harness.index.get_status().trouble
    assert (tmp_path / "index" / "catalogue.db.unreadable").is_dir()
