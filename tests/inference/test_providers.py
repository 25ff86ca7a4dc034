import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from codekernel.domain.settings import Hardware, Performance
from codekernel.inference.providers import (
    COREML,
    CPU,
    CUDA,
    IDENTITY_MODEL,
    detect_hardware,
    find_provider_error,
    select_providers,
)

ROOT = Path(__file__).parents[2]

ASK_TWICE = """
import json, logging, sys
logging.basicConfig(level=logging.INFO, stream=sys.stderr)
from codekernel.inference import providers
assert "onnxruntime" not in sys.modules and "numpy" not in sys.modules
found = providers.detect_hardware()
assert providers.detect_hardware() is found
print(json.dumps([found.has_cuda, found.has_coreml]))
"""

STAND_IN = """
class EPFail(Exception): pass
class SessionOptions: pass

def disable_telemetry_events(): pass

def get_available_providers():
    return ["CUDAExecutionProvider", "CoreMLExecutionProvider", "CPUExecutionProvider"]

class InferenceSession:
    def __init__(self, model, options, providers, enable_fallback):
        self.provider = providers[0]
        if self.provider in {refused}:
            raise EPFail("no device")
    def get_providers(self):
        if self.provider in {falling_back}:
            return ["CPUExecutionProvider"]
        return [self.provider, "CPUExecutionProvider"]
    def run(self, outputs, inputs):
        if self.provider in {failing}:
            raise RuntimeError("out of memory")
        return [inputs["x"]]
"""


def answer_with_onnxruntime(folder: Path, source: str) -> tuple[Any, str]:
    """Ask a kernel whose onnxruntime is ``source``; returns its answer and its log."""
    native = folder / "onnxruntime" / "capi"
    native.mkdir(parents=True)
    (folder / "onnxruntime" / "__init__.py").write_text(source, encoding="utf-8")
    (native / "__init__.py").write_text("", encoding="utf-8")
    (native / "onnxruntime_pybind11_state.py").write_text(
        "from onnxruntime import EPFail", encoding="utf-8"
    )
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(folder), str(ROOT / "kernel")])}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", ASK_TWICE],
        env=environment,
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def stand_in(refused: str = "()", falling_back: str = "()", failing: str = "()") -> str:
    return STAND_IN.format(refused=refused, falling_back=falling_back, failing=failing)


def test_the_tiny_model_gives_its_input_back() -> None:
    import numpy as np  # noqa: PLC0415
    import onnxruntime  # noqa: PLC0415

    session = onnxruntime.InferenceSession(IDENTITY_MODEL, providers=[CPU])
    (output,) = session.run(None, {"x": np.array([42.5], dtype=np.float32)})
    assert output.tolist() == [42.5]


def test_a_trial_on_the_cpu_succeeds() -> None:
    assert find_provider_error(CPU) is None


def test_this_machine_answers_and_remembers_its_answer() -> None:
    answers: list[Hardware] = []
    askers = [threading.Thread(target=lambda: answers.append(detect_hardware())) for _ in range(8)]
    for asker in askers:
        asker.start()
    for asker in askers:
        asker.join(60)
    assert len(answers) == 8
    assert all(answer is answers[0] for answer in answers)
    if sys.platform != "darwin":
        assert not answers[0].has_coreml


def test_accelerators_that_run_a_session_are_available(tmp_path: Path) -> None:
    answer, _log = answer_with_onnxruntime(tmp_path, stand_in())
    assert answer == [True, True]


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (stand_in(refused="('CUDAExecutionProvider',)"), "no device"),
        (stand_in(falling_back="('CUDAExecutionProvider',)"), "fell back to CPUExecutionProvider"),
        (stand_in(failing="('CUDAExecutionProvider',)"), "out of memory"),
    ],
)
def test_an_accelerator_that_is_listed_but_does_not_run_is_not_available(
    tmp_path: Path, source: str, reason: str
) -> None:
    answer, log = answer_with_onnxruntime(tmp_path, source)
    assert answer == [False, True]
    assert f"CUDAExecutionProvider is listed but does not run: {reason}" in log.replace(
        "the session ", ""
    )


def test_an_accelerator_that_onnxruntime_was_not_built_for_is_no_cause_for_alarm(
    tmp_path: Path,
) -> None:
    source = stand_in().replace('"CUDAExecutionProvider", ', "")
    answer, log = answer_with_onnxruntime(tmp_path, source)
    assert answer == [False, True]
    assert "INFO:codekernel.inference.providers:CUDAExecutionProvider is not part of" in log
    assert "WARNING" not in log


@pytest.mark.parametrize(
    "source",
    ["raise ImportError('no libstdc++')", "raise OSError('no libstdc++')"],
)
def test_without_a_loadable_onnxruntime_nothing_is_available(tmp_path: Path, source: str) -> None:
    answer, log = answer_with_onnxruntime(tmp_path, source)
    assert answer == [False, False]
    assert "onnxruntime cannot be loaded: no libstdc++" in log


@pytest.mark.parametrize("coreml", [False, True])
@pytest.mark.parametrize("cuda", [False, True])
def test_without_a_wish_the_cpu_is_used(*, cuda: bool, coreml: bool) -> None:
    assert select_providers(Performance(), Hardware(has_cuda=cuda, has_coreml=coreml)) == [CPU]


@pytest.mark.parametrize(
    ("performance", "hardware", "providers"),
    [
        (Performance(use_cuda=True), Hardware(has_cuda=True, has_coreml=True), [CUDA, CPU]),
        (Performance(use_cuda=True), Hardware(has_cuda=False, has_coreml=True), [CPU]),
        (Performance(use_coreml=True), Hardware(has_cuda=True, has_coreml=True), [COREML, CPU]),
        (Performance(use_coreml=True), Hardware(has_cuda=True, has_coreml=False), [CPU]),
        (
            Performance(use_cuda=True, use_coreml=True),
            Hardware(has_cuda=True, has_coreml=True),
            [COREML, CPU],
        ),
        (
            Performance(use_cuda=True, use_coreml=True),
            Hardware(has_cuda=True, has_coreml=False),
            [CUDA, CPU],
        ),
    ],
)
def test_a_wish_is_granted_where_it_works(
    performance: Performance, hardware: Hardware, providers: list[str]
) -> None:
    assert select_providers(performance, hardware) == providers
