import subprocess
import sys
import threading
from collections.abc import Callable

import pytest
from codekernel.dispatch.routing import Lane, Router, WorkerLane, run_on_own_thread
from codekernel.errors import KernelError, Stopping
from codekernel.protocol.messages.repos import GetRepos

TIMEOUT_SECONDS = 60


class Noted:
    """A job that notes what became of it."""

    def __init__(self, notes: list[str], name: str, work: Callable[[], object] = str) -> None:
        self._notes = notes
        self._name = name
        self._work = work

    def run(self) -> None:
        self._work()
        self._notes.append(self._name)

    def refuse(self, error: KernelError) -> None:
        self._notes.append(f"{self._name} refused: {error}")


def unexpected(error: BaseException) -> None:
    raise error


def test_jobs_run_in_the_order_they_came() -> None:
    notes: list[str] = []
    lane = WorkerLane("test", unexpected)
    for number in range(100):
        lane.post(Noted(notes, str(number)))
    lane.close(Stopping("over"))
    assert lane.join(TIMEOUT_SECONDS)
    assert notes == [str(number) for number in range(100)]


def test_a_closed_lane_finishes_what_it_has_and_refuses_the_rest() -> None:
    notes: list[str] = []
    may_go_on = threading.Event()
    lane = WorkerLane("test", unexpected)
    lane.post(Noted(notes, "first", lambda: may_go_on.wait(TIMEOUT_SECONDS)))
    lane.post(Noted(notes, "second"))
    lane.close(Stopping("over"))
    lane.post(Noted(notes, "late"))
    may_go_on.set()
    assert lane.join(TIMEOUT_SECONDS)
    assert notes == ["late refused: over", "first", "second"]


def test_jobs_that_would_take_too_long_at_the_end_are_refused() -> None:
    notes: list[str] = []
    is_stuck, may_go_on = threading.Event(), threading.Event()
    lane = WorkerLane("test", unexpected)

    def stick() -> None:
        is_stuck.set()
        may_go_on.wait(TIMEOUT_SECONDS)

    lane.post(Noted(notes, "stuck", stick))
    lane.post(Noted(notes, "waiting"))
    assert is_stuck.wait(TIMEOUT_SECONDS)
    lane.close(Stopping("over"))
    assert not lane.join(0.01)
    may_go_on.set()
    assert lane.join(TIMEOUT_SECONDS)
    assert notes == ["stuck", "waiting refused: over"]


def test_what_escapes_from_a_job_is_reported_to_the_lanes_owner() -> None:
    crashes: list[BaseException] = []
    lane = WorkerLane("test", crashes.append)
    lane.post(Noted([], "bad", lambda: 1 // 0))
    assert lane.join(TIMEOUT_SECONDS)
    assert isinstance(crashes[0], ZeroDivisionError)


def test_a_job_on_its_own_thread_waits_for_nobody() -> None:
    done = threading.Event()
    run_on_own_thread(Noted([], "own", done.set), "own")
    assert done.wait(TIMEOUT_SECONDS)


def name_context(_: GetRepos, context: str) -> str:
    return f"handled with {context}"


@pytest.mark.slow
def test_every_late_handler_is_expected_and_in_the_module_that_was_named() -> None:
    """In a process of its own, in which no other test has imported one of them."""
    program = (
        "from codekernel.handlers.context import main_router, session_router\n"
        "for router in (main_router, session_router):\n"
        "    expected = set(router.routes)\n"
        "    router.import_all()\n"
        "    print(*router.routes.keys() - expected)\n"
    )
    command = [sys.executable, "-c", program]
    found = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert found.stdout.split() == []


def test_a_request_routed_before_the_import_reaches_the_handler() -> None:
    router: Router[str] = Router()
    router.expect_late("codekernel.errors", Lane.MAIN, GetRepos)
    early = router.routes["getRepos"]
    router.handles(GetRepos, lane=Lane.MAIN)(name_context)
    assert early.handler(GetRepos(), "services") == "handled with services"
    assert early.lane is router.routes["getRepos"].lane


def test_a_late_handler_that_is_missing_or_on_another_lane_is_a_mistake() -> None:
    router: Router[str] = Router()
    router.expect_late("codekernel.errors", Lane.MAIN, GetRepos)
    with pytest.raises(LookupError, match="does not handle getRepos"):
        router.routes["getRepos"].handler(GetRepos(), "services")
    with pytest.raises(ValueError, match="expected in another way"):
        router.handles(GetRepos, lane=Lane.SETTINGS)(name_context)
