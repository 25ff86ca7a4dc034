"""Vectors are named by their texts: what one index of a userData folder has, no other embeds."""

import shutil
from contextlib import closing
from pathlib import Path

import pytest
from codekernel.indexing.index_plan import BatchSizes, ConfigPlan, IndexPlan
from codekernel.indexing.repository_index import RepositoryIndex
from codekernel.indexing.vector_index import MAX_BATCH_GROWTH, BatchSizer
from codekernel.storage.vectors.shared_vectors import open_shared_vectors
from indexing.counted_index import FILES, SIZE, index_folder, write_files
from support.polling import wait_until

pytestmark = pytest.mark.slow

MODELS = Path(__file__).parents[1] / "fixtures" / "models"


def test_a_file_waits_until_its_vectors_are_stored(tmp_path: Path) -> None:
    write_files(tmp_path / "one")
    waiting: list[int] = []

    def look(index: RepositoryIndex) -> None:
        (config,) = index.get_status().configs
        waiting.append(config.waiting)

    harness, embedded = index_folder(tmp_path / "one", tmp_path / "index" / "1", look)
    assert len(embedded) == FILES
    assert waiting
    assert 0 not in waiting
    look(harness.index)
    assert waiting[-1] == 0
    harness.close()


def test_a_contextual_model_is_heard_as_one_once_it_has_read_the_files(tmp_path: Path) -> None:
    write_files(tmp_path / "one")
    meanwhile: list[bool] = []

    def look(index: RepositoryIndex) -> None:
        meanwhile.extend(each.is_contextual for each in index.vector_indexes)

    plan = IndexPlan((ConfigPlan("mini", MODELS / "all-MiniLM-L6-v2", SIZE),))
    harness, _ = index_folder(tmp_path / "one", tmp_path / "index" / "1", look, plan=plan)
    assert set(meanwhile) == {False}  # a busy machine embeds in several steps
    (vectors,) = harness.index.vector_indexes
    assert vectors.is_contextual
    harness.close()
    assert not vectors.is_contextual  # and nothing is raised for whom it is closed meanwhile


def test_a_static_model_is_never_heard_as_contextual(tmp_path: Path) -> None:
    write_files(tmp_path / "one")
    harness, _ = index_folder(tmp_path / "one", tmp_path / "index" / "1")
    assert [each.is_contextual for each in harness.index.vector_indexes] == [False]
    harness.close()


def test_a_second_worktree_embeds_nothing_that_the_first_has_embedded(tmp_path: Path) -> None:
    first_root, second_root = tmp_path / "one", tmp_path / "two"
    write_files(first_root)
    shutil.copytree(first_root, second_root)
    (second_root / "new.py").write_text("def only_here(): pass\n", encoding="utf-8")
    first, embedded = index_folder(first_root, tmp_path / "index" / "1")
    assert len(embedded) == FILES
    second, embedded = index_folder(second_root, tmp_path / "index" / "2")
    assert len(embedded) == 1
    query = "split a line into its parts"
    assert first.search_paths(query) == second.search_paths(query)
    first.close()
    second.close()


def test_a_worktree_embeds_nothing_after_the_first_index_was_deleted(tmp_path: Path) -> None:
    first_root, second_root = tmp_path / "one", tmp_path / "two"
    write_files(first_root)
    shutil.copytree(first_root, second_root)
    first, _ = index_folder(first_root, tmp_path / "index" / "1")
    first.close()
    shutil.rmtree(tmp_path / "index" / "1")
    second, embedded = index_folder(second_root, tmp_path / "index" / "2")
    second.close()
    assert embedded == []


def test_an_index_of_an_earlier_version_shares_its_vectors_once_it_was_open(tmp_path: Path) -> None:
    first_root, second_root = tmp_path / "one", tmp_path / "two"
    write_files(first_root)
    shutil.copytree(first_root, second_root)
    first, _ = index_folder(first_root, tmp_path / "index" / "1")
    first.close()
    shutil.rmtree(tmp_path / "vectors")  # which it did not have
    again, embedded = index_folder(first_root, tmp_path / "index" / "1")
    assert embedded == []
    wait_for_rows(tmp_path / "vectors", FILES)
    again.close()
    second, embedded = index_folder(second_root, tmp_path / "index" / "2")
    second.close()
    assert embedded == []


@pytest.mark.parametrize("content", [b"", b"noise", b"SQLite format 3\0" + bytes(4096)])
def test_damaged_shared_vectors_are_embedded_anew(tmp_path: Path, content: bytes) -> None:
    first_root, second_root = tmp_path / "one", tmp_path / "two"
    write_files(first_root)
    shutil.copytree(first_root, second_root)
    first, _ = index_folder(first_root, tmp_path / "index" / "1")
    first.close()
    for path in (tmp_path / "vectors").iterdir():
        path.write_bytes(content)
    second, embedded = index_folder(second_root, tmp_path / "index" / "2")
    second.close()
    assert len(embedded) == FILES
    wait_for_rows(tmp_path / "vectors", FILES)


def wait_for_rows(folder: Path, count: int) -> None:
    """Wait until so many vectors are shared."""

    def has_rows(path: Path) -> bool:
        with closing(open_shared_vectors(path)) as database:
            return bool(database.execute("SELECT count(*) FROM vector").fetchone() == (count,))

    wait_until(lambda: any(map(has_rows, folder.glob("*.db"))))


LIMITS = BatchSizes(smallest=4, largest=512, initial=16, target_seconds=2.0)


def test_a_fast_model_gets_larger_batches_up_to_the_limit() -> None:
    """Growth is bounded by step and in all."""
    sizer = BatchSizer(LIMITS)
    sizer.record_embedding(16, 0.001)
    assert sizer.embedded_texts == 16 * MAX_BATCH_GROWTH
    sizer.record_embedding(128, 0.001)
    assert sizer.embedded_texts == LIMITS.largest


def test_a_slow_model_gets_batches_that_take_as_long_as_wanted() -> None:
    """But never fewer texts than the least."""
    sizer = BatchSizer(LIMITS)
    sizer.record_embedding(16, 4.0)
    assert sizer.embedded_texts == 8
    sizer.record_embedding(8, 80.0)
    assert sizer.embedded_texts == LIMITS.smallest


def test_more_is_read_ahead_while_nearly_everything_is_found() -> None:
    """And no more than is embedded at once when something is missing."""
    sizer = BatchSizer(LIMITS)
    sizer.record_lookup(asked=16, missing=1)
    assert sizer.read_texts == 16 * MAX_BATCH_GROWTH
    sizer.record_lookup(asked=128, missing=64)
    assert sizer.read_texts == 16


def test_the_reported_speed_leans_on_earlier_batches() -> None:
    """One slow batch does not become the estimate."""
    assert BatchSizer(LIMITS).chunks_per_second is None
    sizer = BatchSizer(LIMITS)
    sizer.record_embedding(100, 1.0)
    sizer.record_embedding(10, 1.0)
    assert 70 < (sizer.chunks_per_second or 0) < 75
