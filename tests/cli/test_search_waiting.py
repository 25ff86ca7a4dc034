"""How long a search waits, with a real index and a clock that runs as the test wants."""

import io
import itertools
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path

import pytest

from kernel.cli.search_index import FolderIndex
from kernel.cli.search_progress import Bar
from kernel.cli.search_waiting import (
    TICK_SECONDS,
    wait_for_vectors,
    wait_for_words,
    what_is_missing,
)
from kernel.indexing import embedding
from kernel.indexing.plan import ConfigPlan, IndexPlan
from kernel.inference.shelf import Shelf
from kernel.search.searcher import Searcher
from kernel.settings.box import STATIC, box_folder

PLAN = IndexPlan(configs=(ConfigPlan("static", box_folder() / STATIC, 950),), certain=False)


@pytest.fixture
def project(repo: Path) -> Path:
    (repo / "headers.py").write_text("def parsed(header): ...\n", encoding="utf-8")
    return repo


@pytest.fixture
def bar() -> Bar:
    return Bar(io.StringIO())


def hasty() -> Iterator[float]:
    """A clock by which an hour passes at each look."""
    return itertools.count(0.0, 3600.0)


@pytest.mark.slow
def test_words_answer_while_the_vectors_are_far_and_this_is_said(
    project: Path, tmp_path: Path, bar: Bar
) -> None:
    may_open = threading.Event()

    def slow_shelf() -> Shelf:
        may_open.wait(60)
        return Shelf()

    index = FolderIndex(project, tmp_path / "index", PLAN, slow_shelf)
    with closing(index):
        index.start()
        wait_for_words(index, bar)
        wait_for_vectors(index, bar, patient=False, clock=hasty().__next__)
        hits = Searcher(project, index.searchable()).search("header", 10)
        assert [hit.chunk.path for hit in hits] == ["headers.py"]
        assert index.searchable().arms == ()
        (said,) = what_is_missing(index)
        assert "meaning is still being indexed (static)" in said
        may_open.set()
        wait_for_vectors(index, bar, patient=True, clock=hasty().__next__)
        assert len(index.searchable().arms) == 1
        assert what_is_missing(index) == []
        assert index.reached.share == 1.0


def test_a_model_that_cannot_be_used_is_not_waited_for_and_named(
    project: Path, tmp_path: Path, bar: Bar
) -> None:
    broken = IndexPlan(configs=(ConfigPlan("mine", tmp_path / "nowhere", 950),), certain=False)
    with closing(FolderIndex(project, tmp_path / "index", broken, Shelf)) as index:
        index.start()
        wait_for_words(index, bar)
        wait_for_vectors(index, bar, patient=True)
        (said,) = what_is_missing(index)
        assert said.startswith("embedding config mine is not used: ")


def test_words_alone_leave_the_vectors_of_others_and_their_cuts_alone(
    project: Path, tmp_path: Path, bar: Bar
) -> None:
    vectors = tmp_path / "index" / "vectors" / "model-950"
    vectors.mkdir(parents=True)
    certain = IndexPlan(configs=PLAN.configs, certain=True)
    with closing(FolderIndex(project, tmp_path / "index", certain, None)) as index:
        index.start()
        wait_for_words(index, bar)
        wait_for_vectors(index, bar, patient=False)
        assert index.store.catalogue.input_lengths() == [950]
        assert index.reached.share == 1.0
    assert vectors.is_dir()


def test_an_empty_folder_needs_no_model(project: Path, tmp_path: Path, bar: Bar) -> None:
    (project / "headers.py").unlink()

    def no_shelf() -> Shelf:
        raise AssertionError("a model was loaded")

    with closing(FolderIndex(project, tmp_path / "index", PLAN, no_shelf)) as index:
        index.start()
        wait_for_words(index, bar)
        wait_for_vectors(index, bar, patient=False)
        assert Searcher(project, index.searchable()).search("header", 10) == []
        assert what_is_missing(index) == []


def test_the_wait_ends_also_if_the_words_are_done_before_anything_else(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = FolderIndex(project, tmp_path / "index", IndexPlan(), Shelf)
    submit = index._pool.submit

    def done_at_once(job: Callable[..., None], *given: object) -> Future[None]:
        begun = submit(job, *given)
        if given:  # the words; the vectors' thread lives as long as the index
            begun.result(60)
        return begun

    monkeypatch.setattr(index._pool, "submit", done_at_once)
    with closing(index):
        index.start()
        for _ in deadline(20):
            if index.vectors_done:
                break
            time.sleep(TICK_SECONDS)


def deadline(seconds: float) -> Iterator[float]:
    """What is left of the time, until it is too late."""
    end = time.monotonic() + seconds
    while (now := time.monotonic()) < end:
        yield end - now
    pytest.fail("the wait did not end")


def test_with_an_index_that_is_complete_nothing_is_waited_for(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "COMPARED_WITHIN_SECONDS", 60)
    for _ in ("made", "there"):
        with closing(FolderIndex(project, tmp_path / "index", IndexPlan(), Shelf)) as index:
            index.start()
            for _ in deadline(20):
                if index.vectors_done:
                    break
                time.sleep(TICK_SECONDS)
