import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from codekernel.domain.concurrency import CancelToken
from codekernel.errors import Cancelled
from codekernel.inference.model_session import ModelSession, TokenBatch
from codekernel.inference.providers import CPU
from codekernel.inference.tokenizer import EncodedText
from codekernel.settings.local_models import TRANSFORMER_MODEL, get_bundled_folder

PATIENCE_SECONDS = 60


@pytest.fixture(scope="module")
def session() -> ModelSession:
    return ModelSession(get_bundled_folder() / TRANSFORMER_MODEL / "model.onnx", [CPU])


def batch_of(texts: int, tokens: int) -> TokenBatch:
    return TokenBatch.from_texts([EncodedText([7] * tokens, [0] * tokens)] * texts, 1)


def test_a_run_is_broken_off_in_its_middle_and_the_next_one_is_as_before(
    session: ModelSession, capfd: pytest.CaptureFixture[str]
) -> None:
    output, small = next(iter(session.output_shapes)), batch_of(1, 8)
    before = session.run(small, output)
    cancel = CancelToken()
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(session.run, batch_of(32, 500), output, cancel)
        for _ in range(PATIENCE_SECONDS * 1000):
            if cancel._callbacks:
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
        session.run(batch_of(1, 8), next(iter(session.output_shapes)), cancel)
