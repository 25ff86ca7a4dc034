import threading

import pytest
from codekernel.domain import concurrency
from codekernel.domain.concurrency import BackgroundThrottle

PATIENCE_SECONDS = 10


def test_background_work_waits_while_somebody_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concurrency, "MAX_YIELD_SECONDS", PATIENCE_SECONDS)
    shared, passed = BackgroundThrottle(), threading.Event()
    worker = threading.Thread(target=lambda: (shared.yield_to_queries(), passed.set()))
    with shared.query_running(), shared.query_running():
        worker.start()
        assert not passed.wait(0.05)
    assert passed.wait(PATIENCE_SECONDS)
    worker.join(PATIENCE_SECONDS)


def test_questions_without_end_do_not_stop_the_work() -> None:
    shared = BackgroundThrottle()
    with shared.query_running():
        shared.yield_to_queries()
        shared.yield_to_queries()
    assert shared._no_queries.is_set()


def test_nobody_waits_when_nobody_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(concurrency, "MAX_YIELD_SECONDS", None)
    BackgroundThrottle().yield_to_queries()
    assert concurrency.MAX_YIELD_SECONDS is None
