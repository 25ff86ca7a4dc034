"""An index that is opened again is searched by meaning at once, if its vectors have a snapshot."""

import os

import pytest
from codekernel.indexing.index_plan import IndexTimings
from codekernel.storage.index_store import list_vectors_folders
from codekernel.storage.vectors import SNAPSHOT_SUFFIX, snapshot_files
from indexing.harness import IndexHarness, Open, static_plan

PAYMENT = "def refund(invoice):\n    invoice.amount = -invoice.amount\n    return invoice\n"
NEVER_SECONDS = 10_000.0


@pytest.fixture
def timings() -> IndexTimings:
    """What waits for the first questions and for the scan waits for ever."""
    return IndexTimings(index_start_delay=NEVER_SECONDS, embed_start_delay=NEVER_SECONDS)


@pytest.fixture
def closed(open_index: Open) -> IndexHarness:
    """An index of one file that was closed in order; a new one begins without delay."""
    harness = open_index(start=False)
    harness.write("billing.py", PAYMENT)
    harness.index.start(static_plan(1500))
    harness.wait_until_idle()
    harness.close()
    return harness


def test_vectors_with_a_snapshot_are_opened_before_the_files_are_compared(
    closed: IndexHarness, open_index: Open
) -> None:
    assert list(closed.folder.glob(f"vectors/*{SNAPSHOT_SUFFIX}"))
    again = open_index()
    again.wait_until(lambda: again.count_vectors() == [1], "vectors")
    assert again.index.get_status().state == "starting"
    assert again.search_paths("give money back for a bill") == ["billing.py"]


@pytest.mark.parametrize("kind", ["no snapshot", "large snapshot"])
def test_vectors_that_take_long_to_read_leave_the_first_moments_to_questions(
    closed: IndexHarness, open_index: Open, kind: str
) -> None:
    for snapshot in closed.folder.glob(f"vectors/*{SNAPSHOT_SUFFIX}"):
        if kind == "large snapshot":
            os.truncate(snapshot, snapshot_files.MAX_QUICK_SNAPSHOT_BYTES + 1)
        else:
            snapshot.unlink()
    assert not snapshot_files.are_quick_to_read(list_vectors_folders(closed.folder))
    again = open_index()
    assert again.search_paths("refund") == ["billing.py"]
    assert again.count_vectors() == []


@pytest.mark.parametrize("timings", [IndexTimings(NEVER_SECONDS, 0.0, NEVER_SECONDS)])
def test_a_large_snapshot_is_read_without_waiting_for_the_comparison_of_the_files(
    closed: IndexHarness, open_index: Open
) -> None:
    (snapshot,) = closed.folder.glob(f"vectors/*{SNAPSHOT_SUFFIX}")
    os.truncate(snapshot, snapshot_files.MAX_QUICK_SNAPSHOT_BYTES + 1)
    again = open_index()
    again.wait_until(lambda: again.count_vectors() == [1], "vectors")
    assert again.index.get_status().state == "starting"
