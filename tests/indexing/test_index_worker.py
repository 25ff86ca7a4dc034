"""The index worker in a pause, and while it is idle."""

import sys
from pathlib import Path
from typing import Any

import pytest
from codekernel.indexing.outcome_writer import OutcomeWriter
from indexing.harness import IndexHarness, Open, static_plan

FILES = 300
IDLE_SECONDS = 60


def write_files(root: Path, count: int = FILES) -> None:
    for number in range(count):
        text = "".join(
            f"def function_{number}_{each}(value):\n    return value + {each}\n\n\n"
            for each in range(12)
        )
        (root / f"module_{number}.py").write_text(text, encoding="utf-8")


def noted(opened: IndexHarness) -> frozenset[str]:
    """What the watcher has noticed and nobody has dealt with."""
    return opened.index._worker._inbox.paths


def pause(opened: IndexHarness) -> None:
    """Pause with something left to do, however fast the machine is."""
    opened.index.pause()
    opened.write("saved.py", "def brand_new(): ...\n")
    opened.wait_until(lambda: opened.index.get_status().state == "paused", "it stands still")


def done_so_far(opened: IndexHarness) -> tuple[object, ...]:
    return opened.index.store.catalog.count_contents(), opened.count_vectors(), len(opened.reports)


@pytest.mark.slow
def test_a_pause_in_the_middle_stops_words_and_vectors_until_it_is_lifted(
    open_index: Open,
) -> None:
    opened = open_index(start=False)
    write_files(opened.root)
    opened.index.start(static_plan(400))
    opened.wait_until(lambda: bool(opened.index.get_status().files), "the first files")
    pause(opened)
    assert opened.index.get_status().paused
    before = done_so_far(opened)
    opened.write("later.py", "def later(): ...\n")
    opened.wait_until(lambda: "later.py" in noted(opened), "the watcher goes on")
    assert done_so_far(opened) == before
    assert opened.index.get_status().files < FILES, "there was nothing left to pause"
    assert opened.search_paths("function_0_1 value"), "searches go on"
    opened.index.resume()
    opened.wait_until_idle()
    status = opened.index.get_status()
    assert (status.state, status.paused, status.files) == ("idle", False, FILES + 2)
    assert opened.search_paths("brand_new")[0] == "saved.py"
    assert sorted(opened.list_done()) == sorted(set(opened.list_done())), "a file was done twice"


@pytest.mark.slow
def test_a_pause_while_vectors_are_made_keeps_the_words_and_ends_with_all_vectors(
    open_index: Open,
) -> None:
    opened = open_index(start=False)
    write_files(opened.root)
    opened.index.pause()
    opened.index.start(static_plan(80, 400))
    opened.index.resume()
    opened.wait_until(lambda: any(opened.count_vectors()), "the first vectors")
    pause(opened)
    before = done_so_far(opened)
    assert opened.search("function_0_1")
    opened.write("later.py", "def later(): ...\n")
    opened.wait_until(lambda: "later.py" in noted(opened), "the watcher goes on")
    assert done_so_far(opened) == before
    opened.index.resume()
    opened.wait_until_idle()
    for each in opened.index.vector_indexes:
        _, keys = opened.index.store.catalog.read_chunk_keys(each.config.max_chunk_chars)
        assert len(each.table.find_missing(keys)) == 0


def test_a_pause_from_the_beginning_opens_models_and_reads_no_file(open_index: Open) -> None:
    first = open_index()
    first.write("login.py", "def check_password(user): ...\n")
    first.wait_until_idle()
    first.close()
    again = open_index(start=False)
    again.write("other.py", "def other(): ...\n")
    again.index.pause()
    again.index.start(static_plan(1500))
    again.wait_until(lambda: len(again.index.vector_indexes) == 1, "models are for searches")
    again.wait_until(lambda: again.index.get_status().state == "paused", "it stands still")
    assert again.search_paths("password of a user") == ["login.py"]
    assert again.reports == []
    again.index.resume()
    again.wait_until_idle()
    assert again.list_done() == ["other.py"]


def test_an_index_that_is_up_to_date_is_idle_in_a_pause_until_something_is_saved(
    open_index: Open,
) -> None:
    opened = open_index()
    opened.write("a.py", "def first(): ...\n")
    opened.wait_until_idle()
    opened.index.pause()
    status = opened.index.get_status()
    assert (status.state, status.paused) == ("idle", True)
    opened.write("b.py", "def second(): ...\n")
    opened.wait_until(lambda: opened.index.get_status().state == "paused", "something waits")
    assert opened.search_lexical("second") == []
    opened.index.resume()
    opened.wait_until(lambda: opened.search_lexical("second") == ["b.py"], "it is done now")
    opened.wait_until_idle()
    assert opened.index.get_status().state == "idle"


@pytest.mark.slow
def test_an_index_is_closed_in_a_pause_and_the_next_one_finishes_it(open_index: Open) -> None:
    opened = open_index(start=False)
    write_files(opened.root)
    opened.index.start(static_plan(400))
    opened.wait_until(lambda: bool(opened.reports), "it has begun")
    pause(opened)
    opened.close()
    again = open_index(static_plan(400))
    again.wait_until_idle()
    status = again.index.get_status()
    assert (status.files, status.paused) == (FILES + 1, False)


@pytest.mark.slow
def test_a_pause_in_the_middle_of_a_commit_leaves_the_index_readable_and_closes_whole(
    open_index: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = open_index(start=False)
    write_files(opened.root, 40)

    write_batch = OutcomeWriter.write

    def write_in_a_pause(*arguments: Any, **more: Any) -> list[tuple[int, str]]:
        opened.index.pause()
        return write_batch(*arguments, **more)

    monkeypatch.setattr(OutcomeWriter, "write", write_in_a_pause)
    opened.index.start(static_plan(400))
    opened.wait_until(lambda: opened.index.get_status().state == "paused", "in the commit")
    assert opened.index.get_status().files == 0
    assert opened.search("function_1_1") == []
    monkeypatch.undo()
    opened.close()
    again = open_index(static_plan(400))
    again.wait_until_idle()
    assert again.index.get_status().files == 40
    assert again.search_lexical("function_7_3")[0] == "module_7.py"


def test_settings_that_change_in_a_pause_are_searched_and_embedded_after_it(
    open_index: Open,
) -> None:
    opened = open_index(static_plan(1500))
    opened.write("a.py", "def first(): ...\n")
    opened.wait_until_idle()
    opened.index.pause()
    opened.index.reconfigure(static_plan(1500, 300))
    opened.wait_until(lambda: len(opened.index.vector_indexes) == 2, "both models are there")
    opened.wait_until(lambda: opened.index.get_status().state == "paused", "it stands still")
    assert opened.count_vectors() == [1, 0] or opened.count_vectors() == [0, 1]
    opened.index.resume()
    opened.wait_until_idle()
    assert opened.count_vectors() == [1, 1]


@pytest.mark.slow
def test_an_idle_index_waits_without_waking_up(open_index: Open) -> None:
    opened = open_index()
    opened.write("a.py", "def first(): ...\n")
    opened.wait_until_idle()
    worker = opened.index._worker
    opened.wait_until(lambda: worker.has_settled, "compacted")
    opened.wait_until(lambda: not worker.embed_worker._needs_compaction, "vectors compacted")
    assert worker.embed_worker._get_idle_timeout() is None
    if sys.platform == "linux":  # elsewhere the files of the store are looked at now and then
        opened.wait_until(lambda: worker._get_idle_timeout() > IDLE_SECONDS, "guarded")


def test_a_second_change_of_settings_in_a_pause_is_acted_on_at_once(open_index: Open) -> None:
    opened = open_index(static_plan(1500))
    opened.write("a.py", "def first(): ...\n")
    opened.wait_until_idle()
    opened.index.pause()
    opened.index.reconfigure(static_plan(1500, 300))
    opened.wait_until(lambda: len(opened.index.vector_indexes) == 2, "both models are there")
    opened.index.reconfigure(static_plan(1500, 300, 700))
    opened.wait_until(lambda: len(opened.index.vector_indexes) == 3, "all models are there")
    opened.index.resume()
    opened.wait_until_idle()
    assert opened.count_vectors() == [1, 1, 1]
