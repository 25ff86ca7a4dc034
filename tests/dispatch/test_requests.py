import threading

from codekernel.dispatch.requests import Backlog
from codekernel.errors import KernelError

TIMEOUT_SECONDS = 60


class Waiting:
    def run(self) -> None:
        raise NotImplementedError

    def refuse(self, error: KernelError) -> None:
        raise NotImplementedError


def test_beyond_the_limit_requests_are_refused_while_nothing_moves() -> None:
    backlog = Backlog(limit=2, admit_timeout_seconds=0.01)
    first, second = Waiting(), Waiting()
    assert backlog.admit(first)
    assert backlog.admit(second)
    assert not backlog.admit(Waiting())
    assert not backlog.admit(Waiting())
    backlog.finish(first)
    assert backlog.admit(Waiting())
    assert second in backlog.list_open()


def test_few_requests_are_too_many_if_their_lines_are_long() -> None:
    backlog = Backlog(max_bytes=100, admit_timeout_seconds=0.01)
    first = Waiting()
    assert backlog.admit(first, 60)
    assert backlog.admit(Waiting(), 60)
    assert not backlog.admit(Waiting(), 1)
    backlog.finish(first)
    assert backlog.admit(Waiting(), 1)


def test_a_burst_that_is_being_worked_off_is_waited_for() -> None:
    backlog = Backlog(limit=1, admit_timeout_seconds=TIMEOUT_SECONDS)
    first = Waiting()
    backlog.admit(first)
    admitted: list[bool] = []
    admitting = threading.Thread(target=lambda: admitted.append(backlog.admit(Waiting())))
    admitting.start()
    backlog.finish(first)
    admitting.join(TIMEOUT_SECONDS)
    assert admitted == [True]


def test_waiting_until_empty_ends_with_the_last_answer() -> None:
    backlog = Backlog()
    job = Waiting()
    backlog.admit(job)
    empty = threading.Event()

    def wait() -> None:
        backlog.wait_until_empty(TIMEOUT_SECONDS)
        empty.set()

    threading.Thread(target=wait, daemon=True).start()
    assert backlog.list_open() == [job]
    backlog.finish(job)
    backlog.finish(job)
    assert empty.wait(TIMEOUT_SECONDS)
    assert backlog.list_open() == []
