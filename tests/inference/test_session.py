import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from kernel.domain.cancel import CancelToken
from kernel.errors import Cancelled
from kernel.inference.providers import CPU
from kernel.inference.session import ModelSession, TokenBatch
from kernel.settings.box import TRANSFORMER, box_folder

PATIENCE_SECONDS = 60


@pytest.fixture(scope="module")
def session() -> ModelSession:
    return ModelSession(box_folder() / TRANSFORMER / "model.onnx", [CPU])


def batch_of(texts: int, tokens: int) -> TokenBatch:
    return TokenBatch.of([[7] * tokens] * texts, [[0] * tokens] * texts, 1)


def test_a_run_is_broken_off_in_its_middle_and_the_next_one_is_as_before(
    session: ModelSession, capfd: pytest.CaptureFixture[str]
) -> None:
    output, small = next(iter(session.outputs)), batch_of(1, 8)
    before = session.run(small, output)
    cancel = CancelToken()
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(session.run, batch_of(32, 500), output, cancel)
        for _ in range(PATIENCE_SECONDS * 1000):
            if cancel._told:
                break
            threading.Event().wait(0.001)
        cancel.cancel()
        with pytest.raises(Cancelled):
            running.result(PATIENCE_SECONDS)
    assert np.array_equal(session.run(small, output), before)
    assert capfd.readouterr() == ("", ""), "onnxruntime complained"


def test_a_run_that_comes_too_late_is_not_begun(session: ModelSession) -> None:
    cancel = CancelToken()
    cancel.cancel()
    with pytest.raises(Cancelled):
        session.run(batch_of(1, 8), next(iter(session.outputs)), cancel)
