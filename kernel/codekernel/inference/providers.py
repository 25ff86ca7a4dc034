"""Import onnxruntime, find out which of its execution providers (CUDA, CoreML) work, and select.

Every other module takes onnxruntime from here, where its telemetry is disabled: the environment
variable set in the package's __init__ is enough on Linux and macOS, Windows (ETW) needs the call.
"""

import logging
import threading
from collections.abc import Sequence
from functools import cache
from typing import Any

from codekernel.domain.settings import Hardware, Performance

logger = logging.getLogger(__name__)


@cache
def load_onnxruntime() -> Any:
    """Return onnxruntime with telemetry disabled."""
    import onnxruntime.capi.onnxruntime_pybind11_state  # noqa: PLC0415 - slow, and may fail

    onnxruntime.disable_telemetry_events()
    return onnxruntime


def open_session(model: str | bytes, providers: Sequence[str], log_level: int) -> Any:
    """Return a session that uses the calling thread alone; raises ``get_runtime_errors()``."""
    onnxruntime = load_onnxruntime()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = log_level
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    # Falling back would print to stdout and hide the reason.
    return onnxruntime.InferenceSession(model, options, providers=providers, enable_fallback=0)


@cache
def get_runtime_errors() -> tuple[type[Exception], ...]:
    """Return every type of error that loading or running a model raises."""
    native = load_onnxruntime().capi.onnxruntime_pybind11_state
    types = [each for each in vars(native).values() if isinstance(each, type)]
    errors = [each for each in types if issubclass(each, Exception)]
    return (RuntimeError, ValueError, OSError, *errors)


# An ONNX model, its protobuf written out: one Identity node from "x" to "y", both float32[1].
IDENTITY_MODEL = (
    b"\x08\x08"  # ir_version 8
    b"\x3a\x37"  # graph, 55 bytes
    b"\x0a\x10\x0a\x01x\x12\x01y\x22\x08Identity"  # node: input, output, operator
    b"\x12\x01g"  # its name
    b"\x5a\x0f\x0a\x01x\x12\x0a\x0a\x08\x08\x01\x12\x04\x0a\x02\x08\x01"  # input
    b"\x62\x0f\x0a\x01y\x12\x0a\x0a\x08\x08\x01\x12\x04\x0a\x02\x08\x01"  # output
    b"\x42\x02\x10\x0d"  # operator set 13
)

_LOG_LEVEL_FATAL = 4  # onnxruntime's own log level: it writes to stderr what the answer says anyway


def find_provider_error(provider: str) -> str | None:
    """Return why no session runs on ``provider``; None if one does."""
    import numpy as np  # noqa: PLC0415 - slow to import

    try:
        session = open_session(IDENTITY_MODEL, [provider], _LOG_LEVEL_FATAL)
        used = session.get_providers()[0]
        if used != provider:
            return f"the session fell back to {used}"
        session.run(None, {"x": np.ones(1, dtype=np.float32)})
    except get_runtime_errors() as error:
        return str(error)
    return None


CPU = "CPUExecutionProvider"

CUDA = "CUDAExecutionProvider"

COREML = "CoreMLExecutionProvider"

_probe_lock = threading.Lock()


def detect_hardware() -> Hardware:
    """Return the accelerators that run a trial session; cached."""
    # A trial takes seconds on a cold driver: other threads wait for the first.
    with _probe_lock:
        return _probe_hardware()


def select_providers(performance: Performance, hardware: Hardware) -> list[str]:
    """Choose a session's providers, best first: CoreML before CUDA, and the CPU always last."""
    if performance.use_coreml and hardware.has_coreml:
        return [COREML, CPU]
    if performance.use_cuda and hardware.has_cuda:
        return [CUDA, CPU]
    return [CPU]


@cache
def _probe_hardware() -> Hardware:
    try:
        listed = load_onnxruntime().get_available_providers()
    except (ImportError, OSError) as error:  # OSError: a system library it needs is missing
        logger.warning("no accelerator, because onnxruntime cannot be loaded: %s", error)
        return Hardware(has_cuda=False, has_coreml=False)
    return Hardware(has_cuda=_can_run(CUDA, listed), has_coreml=_can_run(COREML, listed))


def _can_run(provider: str, listed: list[str]) -> bool:
    if provider not in listed:
        logger.info("%s is not part of this onnxruntime", provider)
        return False
    reason = find_provider_error(provider)
    if reason is not None:
        logger.warning("%s is listed but does not run: %s", provider, reason)
    return reason is None
