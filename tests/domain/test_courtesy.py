import threading

import pytest

from kernel.domain import courtesy
from kernel.domain.courtesy import Courtesy

PATIENCE_SECONDS = 10


def test_background_work_waits_while_somebody_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(courtesy, "LONGEST_PAUSE_SECONDS", PATIENCE_SECONDS)
    shared, passed = Courtesy(), threading.Event()
    worker = threading.Thread(target=lambda: (shared.let_pass(), passed.set()))
    with shared.asking(), shared.asking():
        worker.start()
        assert not passed.wait(0.05)
    assert passed.wait(PATIENCE_SECONDS)
    worker.join(PATIENCE_SECONDS)


def test_questions_without_end_do_not_stop_the_work() -> None:
    shared = Courtesy()
    with shared.asking():
        shared.let_pass()
        shared.let_pass()
    assert shared._quiet.is_set()


def test_nobody_waits_when_nobody_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(courtesy, "LONGEST_PAUSE_SECONDS", None)
    Courtesy().let_pass()
    assert courtesy.LONGEST_PAUSE_SECONDS is None
