"""Requests to the index worker are merged into one."""

from codekernel.indexing.index_plan import IndexPlan
from codekernel.indexing.index_state import NO_REQUEST, EmbedInbox, WorkRequest

NEWER = IndexPlan(is_certain=False)


def test_nothing_asked_for_is_false_and_anything_is_true() -> None:
    assert not NO_REQUEST
    assert not EmbedInbox()
    for request in (
        WorkRequest(frozenset({"a"})),
        WorkRequest(needs_scan=True),
        WorkRequest(needs_rechunk=True),
        WorkRequest(plan=IndexPlan()),
        WorkRequest(needs_verification=True),
        WorkRequest(needs_check=True),
    ):
        assert request
        assert NO_REQUEST.merge(request) == request
        assert request.merge(NO_REQUEST) == request


def test_the_later_plan_wins_and_paths_add_up() -> None:
    first = WorkRequest(frozenset({"a"}), plan=IndexPlan())
    merged = first.merge(WorkRequest(frozenset({"b"}), needs_scan=True, plan=NEWER))
    assert merged == WorkRequest(frozenset({"a", "b"}), needs_scan=True, plan=NEWER)


def test_only_what_writes_files_or_chunks_is_indexing() -> None:
    assert WorkRequest(frozenset({"a"})).needs_indexing
    assert not WorkRequest(plan=NEWER, needs_verification=True, needs_check=True).needs_indexing
