"""Vectors are named by their texts: what one index of a userData folder has, no other embeds."""

import shutil
import time
from contextlib import closing
from pathlib import Path

import pytest
from codekernel.indexing.index_plan import ConfigPlan, IndexPlan
from codekernel.indexing.repository_index import RepositoryIndex
from codekernel.storage.vectors.shared_vectors import open_shared_vectors
from indexing.counted_index import FILES, SIZE, index_folder, write_files
from indexing.harness import WAIT_TIMEOUT_SECONDS

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
    deadline = time.monotonic() + WAIT_TIMEOUT_SECONDS
    while True:
        for path in folder.glob("*.db"):
            with closing(open_shared_vectors(path)) as database:
                if database.execute("SELECT count(*) FROM vector").fetchone() == (count,):
                    return
        assert time.monotonic() < deadline
        time.sleep(0.05)
