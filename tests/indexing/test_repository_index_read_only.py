"""An index that another process keeps: read meanwhile, kept here as soon as it is free."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from codekernel.indexing.index_plan import IndexPlan, IndexTimings
from codekernel.storage.catalog.tables import CATALOG_FORMAT
from codekernel.storage.catalog.writer import CatalogWriter
from codekernel.storage.index_store import CATALOG_FILE
from codekernel.storage.lexical_index import LexicalIndex
from codekernel.storage.process_lock import ProcessLock
from indexing.harness import IndexHarness, Open, static_plan

TEXT = "def check_password(user, password): ...\n"
WORDS_ALONE = IndexPlan()


@pytest.fixture
def timings() -> IndexTimings:
    return IndexTimings(writer_retry=0.02)


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[ProcessLock]:
    """The lock of the index, held as another process holds it."""
    lock = ProcessLock(tmp_path / "index" / "writer.lock")
    assert lock.try_acquire()
    yield lock
    lock.release()


def state(harness: IndexHarness) -> str:
    return harness.index.get_status().state


def test_the_index_is_read_while_another_keeps_it_and_kept_when_that_ends(
    open_index: Open,
) -> None:
    first = open_index(WORDS_ALONE)
    first.write("login.py", TEXT)
    first.wait_until(lambda: first.search_lexical("check_password") == ["login.py"], "indexed")
    first.wait_until_idle()
    second = open_index(WORDS_ALONE)
    assert (state(second), second.index.get_status().trouble) == ("read-only", "")
    assert second.search_paths("check_password") == ["login.py"]
    first.close()
    first.write("later.py", "def second_factor(): ...\n")  # which nobody notices but a sweep
    second.wait_until(lambda: state(second) != "read-only", "the lock taken")
    second.wait_until_idle()
    assert second.search_paths("second_factor")[0] == "later.py"
    assert second.list_done() == ["later.py"]


def test_a_plan_that_came_meanwhile_is_the_one_that_is_followed(
    elsewhere: ProcessLock, open_index: Open
) -> None:
    opened = open_index(static_plan(1500))
    opened.write("login.py", TEXT)
    opened.index.reconfigure(static_plan(400))
    elsewhere.release()
    opened.wait_until_idle()
    assert opened.index.store.catalog.list_chunk_sizes() == [400]


def test_an_index_of_which_there_is_nothing_yet_is_waited_for(
    elsewhere: ProcessLock, open_index: Open, tmp_path: Path
) -> None:
    opened = open_index(WORDS_ALONE)
    opened.write("login.py", TEXT)
    told = opened.index.get_status()
    assert (told.state, told.files) == ("read-only", 0)
    assert "another codekernel keeps the index" in told.trouble
    assert opened.search_paths("check_password") == []
    writer = CatalogWriter(tmp_path / "index" / CATALOG_FILE)
    words = LexicalIndex.open(tmp_path / "index" / "words", writable=True)
    opened.wait_until(lambda: opened.index.get_status().trouble == "", "something to read")
    assert state(opened) == "read-only"
    assert opened.index.store.folder == tmp_path / "index"
    words.close()
    writer.close()
    elsewhere.release()
    opened.wait_until(lambda: opened.search_paths("check_password") == ["login.py"], "indexed")


def test_an_index_of_another_version_is_not_read_and_made_anew_when_it_is_free(
    elsewhere: ProcessLock, open_index: Open, tmp_path: Path
) -> None:
    with sqlite3.connect(tmp_path / "index" / CATALOG_FILE) as other:
        other.execute(f"PRAGMA user_version = {CATALOG_FORMAT + 1}")
    other.close()
    opened = open_index(WORDS_ALONE)
    opened.write("login.py", TEXT)
    assert f"format {CATALOG_FORMAT + 1}" in opened.index.get_status().trouble
    elsewhere.release()
    opened.wait_until(lambda: opened.search_paths("check_password") == ["login.py"], "indexed")


def test_it_can_be_closed_while_it_waits(elsewhere: ProcessLock, open_index: Open) -> None:
    opened = open_index(WORDS_ALONE)
    opened.close()
    assert elsewhere.is_held


def test_a_plan_brought_by_new_settings_is_not_overwritten_by_the_one_of_the_start(
    open_index: Open,
) -> None:
    opened = open_index(start=False)
    opened.write("login.py", TEXT)
    opened.index.reconfigure(static_plan(400))
    opened.index.start(static_plan(1500))
    opened.wait_until_idle()
    assert opened.index.store.catalog.list_chunk_sizes() == [400]
    assert [config.name for config in opened.index.get_status().configs] == ["static-400"]
