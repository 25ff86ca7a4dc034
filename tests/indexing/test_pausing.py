"""A pause of the work on an index: nothing is done, all is noted, and nobody else notices."""

from pathlib import Path
from typing import Any

import pytest
from codekernel.indexing import indexer
from indexing.followed import Followed, Open, static_plan

FILES = 300


def write_files(root: Path, count: int = FILES) -> None:
    for number in range(count):
        text = "".join(
            f"def function_{number}_{each}(value):\n    return value + {each}\n\n\n"
            for each in range(12)
        )
        (root / f"module_{number}.py").write_text(text, encoding="utf-8")


def noted(opened: Followed) -> frozenset[str]:
    """What the watcher has noticed and nobody has dealt with."""
    return opened.index._worker.waiting_paths


def pause(opened: Followed) -> None:
    """Pause with something left to do, however fast the machine is."""
    opened.index.pause()
    opened.write("saved.py", "def brand_new(): ...\n")
    opened.wait_until(lambda: opened.index.get_status().state == "paused", "it stands still")


def done_so_far(opened: Followed) -> tuple[object, ...]:
    return opened.index.store.catalog.count_contents(), opened.vectors(), len(opened.told)


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
    assert opened.paths("function_0_1 value"), "searches go on"
    opened.index.resume()
    opened.settle()
    status = opened.index.get_status()
    assert (status.state, status.paused, status.files) == ("idle", False, FILES + 2)
    assert opened.paths("brand_new")[0] == "saved.py"
    assert sorted(opened.done()) == sorted(set(opened.done())), "a file was done twice"


def test_a_pause_while_vectors_are_made_keeps_the_words_and_ends_with_all_vectors(
    open_index: Open,
) -> None:
    opened = open_index(start=False)
    write_files(opened.root)
    opened.index.pause()
    opened.index.start(static_plan(80, 400))
    opened.index.resume()
    opened.wait_until(lambda: any(opened.vectors()), "the first vectors")
    pause(opened)
    before = done_so_far(opened)
    assert opened.search("function_0_1")
    opened.write("later.py", "def later(): ...\n")
    opened.wait_until(lambda: "later.py" in noted(opened), "the watcher goes on")
    assert done_so_far(opened) == before
    opened.index.resume()
    opened.settle()
    for each in opened.index.vector_indexes:
        _, keys = opened.index.store.catalog.read_chunk_keys(each.config.max_chunk_chars)
        assert len(each.table.find_missing(keys)) == 0


def test_a_pause_from_the_beginning_opens_models_and_reads_no_file(open_index: Open) -> None:
    first = open_index()
    first.write("login.py", "def check_password(user): ...\n")
    first.settle()
    first.close()
    again = open_index(start=False)
    again.write("other.py", "def other(): ...\n")
    again.index.pause()
    again.index.start(static_plan(1500))
    again.wait_until(lambda: len(again.index.vector_indexes) == 1, "models are for searches")
    again.wait_until(lambda: again.index.get_status().state == "paused", "it stands still")
    assert again.paths("password of a user") == ["login.py"]
    assert again.told == []
    again.index.resume()
    again.settle()
    assert again.done() == ["other.py"]


def test_an_index_that_is_up_to_date_is_idle_in_a_pause_until_something_is_saved(
    open_index: Open,
) -> None:
    opened = open_index()
    opened.write("a.py", "def first(): ...\n")
    opened.settle()
    opened.index.pause()
    status = opened.index.get_status()
    assert (status.state, status.paused) == ("idle", True)
    opened.write("b.py", "def second(): ...\n")
    opened.wait_until(lambda: opened.index.get_status().state == "paused", "something waits")
    assert opened.words("second") == []
    opened.index.resume()
    opened.wait_until(lambda: opened.words("second") == ["b.py"], "it is done now")
    opened.settle()
    assert opened.index.get_status().state == "idle"


def test_an_index_is_closed_in_a_pause_and_the_next_one_finishes_it(open_index: Open) -> None:
    opened = open_index(start=False)
    write_files(opened.root)
    opened.index.start(static_plan(400))
    opened.wait_until(lambda: bool(opened.told), "it has begun")
    pause(opened)
    opened.close()
    again = open_index(static_plan(400))
    again.settle()
    status = again.index.get_status()
    assert (status.files, status.paused) == (FILES + 1, False)


def test_a_pause_in_the_middle_of_a_commit_leaves_the_index_readable_and_closes_whole(
    open_index: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = open_index(start=False)
    write_files(opened.root, 40)
    written = indexer.write_outcomes

    def write_in_a_pause(*arguments: Any) -> list[tuple[int, str]]:
        opened.index.pause()
        return written(*arguments)

    monkeypatch.setattr(indexer, "write_outcomes", write_in_a_pause)
    opened.index.start(static_plan(400))
    opened.wait_until(lambda: opened.index.get_status().state == "paused", "in the commit")
    assert opened.index.get_status().files == 0
    assert opened.search("function_1_1") == []
    monkeypatch.undo()
    opened.close()
    again = open_index(static_plan(400))
    again.settle()
    assert again.index.get_status().files == 40
    assert again.words("function_7_3")[0] == "module_7.py"


def test_settings_that_change_in_a_pause_are_searched_and_embedded_after_it(
    open_index: Open,
) -> None:
    opened = open_index(static_plan(1500))
    opened.write("a.py", "def first(): ...\n")
    opened.settle()
    opened.index.pause()
    opened.index.reconfigure(static_plan(1500, 300))
    opened.wait_until(lambda: len(opened.index.vector_indexes) == 2, "both models are there")
    opened.wait_until(lambda: opened.index.get_status().state == "paused", "it stands still")
    assert opened.vectors() == [1, 0] or opened.vectors() == [0, 1]
    opened.index.resume()
    opened.settle()
    assert opened.vectors() == [1, 1]
