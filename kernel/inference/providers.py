"""Which accelerators work on this machine, and which of them a session is given."""

import logging
import threading
from functools import cache

from kernel.domain.hardware import Hardware
from kernel.domain.settings import Performance
from kernel.inference.trial import reason_not_running

logger = logging.getLogger(__name__)

CPU = "CPUExecutionProvider"
CUDA = "CUDAExecutionProvider"
COREML = "CoreMLExecutionProvider"

_one_probe = threading.Lock()


def available_hardware() -> Hardware:
    """Find the accelerators that run a trial session; asked once, then remembered."""
    with _one_probe:  # a trial takes seconds on a cold driver; the second asker waits for the first
        return _probe()


def selected_providers(performance: Performance, hardware: Hardware) -> list[str]:
    """Choose a session's providers, best first: CoreML before CUDA, and the CPU always last."""
    if performance.use_coreml and hardware.coreml:
        return [COREML, CPU]
    if performance.use_cuda and hardware.cuda:
        return [CUDA, CPU]
    return [CPU]


@cache
def _probe() -> Hardware:
    try:
        from kernel.inference.onnx import onnxruntime  # noqa: PLC0415 - slow to import

        listed = onnxruntime.get_available_providers()
    except (ImportError, OSError) as error:  # OSError: a system library it needs is missing
        logger.warning("no accelerator, because onnxruntime cannot be loaded: %s", error)
        return Hardware(cuda=False, coreml=False)
    return Hardware(cuda=_works(CUDA, listed), coreml=_works(COREML, listed))


def _works(provider: str, listed: list[str]) -> bool:
    if provider not in listed:
        logger.info("%s is not part of this onnxruntime", provider)
        return False
    reason = reason_not_running(provider)
    if reason is not None:
        logger.warning("%s is listed but does not run: %s", provider, reason)
    return reason is None
