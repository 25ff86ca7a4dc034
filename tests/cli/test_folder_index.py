"""How long a command waits for its index, with a real index and a clock of the test."""

import io
import itertools
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from codekernel.cli.folder_index import (
    POLL_INTERVAL_SECONDS,
    FolderIndex,
    describe_missing,
    wait_for_lexical,
    wait_for_vectors,
)
from codekernel.cli.output.progress_bar import ProgressBar
from codekernel.indexing.index_plan import ConfigPlan, IndexPlan
from codekernel.inference.model_pool import ModelPool
from codekernel.search.pipeline import Searcher
from codekernel.settings.local_models import STATIC_MODEL, get_bundled_folder

PLAN = IndexPlan(
    configs=(ConfigPlan("static", get_bundled_folder() / STATIC_MODEL, 950),), is_certain=False
)


@pytest.fixture
def project(repo: Path) -> Path:
    (repo / "headers.py").write_text("def parsed(header): ...\n", encoding="utf-8")
    return repo


@pytest.fixture
def bar() -> ProgressBar:
    return ProgressBar(io.StringIO())


def skip_hours() -> Iterator[float]:
    """A clock by which an hour passes at each look."""
    return itertools.count(0.0, 3600.0)


@pytest.mark.slow
def test_words_answer_while_the_vectors_are_far_and_this_is_said(
    project: Path, tmp_path: Path, bar: ProgressBar
) -> None:
    may_open = threading.Event()

    def get_slow_pool() -> ModelPool:
        may_open.wait(60)
        return ModelPool()

    index = FolderIndex(project, tmp_path / "index", PLAN, get_slow_pool)
    with closing(index):
        index.start()
        wait_for_lexical(index, bar)
        wait_for_vectors(index, bar, until_complete=False, clock=skip_hours().__next__)
        hits = Searcher(project, index.get_searchable()).search("header", 10)
        assert [hit.chunk.path for hit in hits] == ["headers.py"]
        assert index.get_searchable().vector_indexes == ()
        (said,) = describe_missing(index)
        assert "meaning is still being indexed (static)" in said
        may_open.set()
        wait_for_vectors(index, bar, until_complete=True, clock=skip_hours().__next__)
        assert len(index.get_searchable().vector_indexes) == 1
        assert describe_missing(index) == []
        assert index.indexing_progress.share == 1.0


def test_a_model_that_cannot_be_used_is_not_waited_for_and_named(
    project: Path, tmp_path: Path, bar: ProgressBar
) -> None:
    broken = IndexPlan(configs=(ConfigPlan("mine", tmp_path / "nowhere", 950),), is_certain=False)
    with closing(FolderIndex(project, tmp_path / "index", broken, ModelPool)) as index:
        index.start()
        wait_for_lexical(index, bar)
        wait_for_vectors(index, bar, until_complete=True)
        (said,) = describe_missing(index)
        assert said.startswith("embedding config mine is not used: ")


def test_words_alone_leave_the_vectors_of_others_and_their_cuts_alone(
    project: Path, tmp_path: Path, bar: ProgressBar
) -> None:
    vectors = tmp_path / "index" / "vectors" / "model-950"
    vectors.mkdir(parents=True)
    certain = IndexPlan(configs=PLAN.configs, is_certain=True)
    with closing(FolderIndex(project, tmp_path / "index", certain, None)) as index:
        index.start()
        wait_for_lexical(index, bar)
        wait_for_vectors(index, bar, until_complete=False)
        assert index.store.catalog.list_chunk_sizes() == [950]
        assert index.indexing_progress.share == 1.0
    assert vectors.is_dir()


def test_an_empty_folder_needs_no_model(project: Path, tmp_path: Path, bar: ProgressBar) -> None:
    (project / "headers.py").unlink()

    def get_no_pool() -> ModelPool:
        raise AssertionError("a model was loaded")

    with closing(FolderIndex(project, tmp_path / "index", PLAN, get_no_pool)) as index:
        index.start()
        wait_for_lexical(index, bar)
        wait_for_vectors(index, bar, until_complete=False)
        assert Searcher(project, index.get_searchable()).search("header", 10) == []
        assert describe_missing(index) == []


def test_the_wait_ends_also_if_the_words_are_done_before_anything_else(
    project: Path, tmp_path: Path
) -> None:
    with closing(FolderIndex(project, tmp_path / "index", IndexPlan(), ModelPool)) as index:
        index.start()
        assert index.wait_for_lexical(60)
        for _ in deadline(20):
            if index.is_embedding_done:
                break
            time.sleep(POLL_INTERVAL_SECONDS)


def deadline(seconds: float) -> Iterator[float]:
    """What is left of the time, until it is too late."""
    end = time.monotonic() + seconds
    while (now := time.monotonic()) < end:
        yield end - now
    pytest.fail("the wait did not end")


def test_with_an_index_that_is_complete_nothing_is_waited_for(
    project: Path, tmp_path: Path
) -> None:
    for _ in ("made", "there"):
        with closing(FolderIndex(project, tmp_path / "index", IndexPlan(), ModelPool)) as index:
            index.start()
            for _ in deadline(20):
                if index.is_embedding_done:
                    break
                time.sleep(POLL_INTERVAL_SECONDS)
