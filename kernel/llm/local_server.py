"""llama.cpp inside this process, by way of xllamacpp, which brings the server around it.

The server listens on loopback whether one wants it or not, so it gets a key that nobody else
knows; being asked over HTTP like any other endpoint, it also drops an answer nobody waits for.
"""

import importlib
import importlib.util
import secrets
from pathlib import Path
from typing import Any

from kernel.domain.settings import Performance
from kernel.errors import InvalidModel

PACKAGE = "xllamacpp"
MODEL_ALIAS = "local"
# What is kept of a larger window: its memory is taken when the model is loaded, used or not.
LARGEST_CONTEXT = 16384
# Conversations that one loaded model answers at the same time; they share the window.
ANSWERS_AT_ONCE = 4
# How much is read between two looks at whether anybody still waits. Measured on one core: 128 is as
# fast as 512, and a stop during a long question frees the core in 3 s instead of 10.
BATCH_TOKENS = 128
GPU_BATCH_TOKENS = 512
_ALL_LAYERS = -1
_SILENT = -1


def check_installed() -> None:
    """Raise InvalidModel if models cannot be run here."""
    if importlib.util.find_spec(PACKAGE) is None:
        raise InvalidModel(
            "Chat models on this machine need the package xllamacpp: "
            'install it with pip install "codekernel[local]".'
        )


class LocalServer:
    """A loaded model; loading takes seconds, and letting go of it too."""

    def __init__(self, file: Path, performance: Performance, *, context_tokens: int) -> None:
        self.key = secrets.token_urlsafe(32)
        library: Any = importlib.import_module(PACKAGE)
        try:
            self._server = library.Server(
                _parameters(library, file, performance, context_tokens, self.key)
            )
        except (RuntimeError, ValueError, OSError):
            raise InvalidModel(
                f"{file} could not be loaded: it is damaged, of a kind that this version does not "
                "know, or too large for the memory of this machine."
            ) from None

    @property
    def root(self) -> str:
        """The address to ask at."""
        return str(self._server.listening_address)


def _parameters(
    library: Any, file: Path, performance: Performance, context_tokens: int, key: str
) -> Any:
    parameters = library.CommonParams()
    parameters.model.path = str(file)
    parameters.model_alias = {MODEL_ALIAS}
    parameters.api_keys = [key]
    parameters.ui = False
    parameters.endpoint_slots = False
    parameters.verbosity = _SILENT
    parameters.warmup = False
    parameters.n_ctx = context_tokens
    parameters.n_parallel = ANSWERS_AT_ONCE
    parameters.kv_unified = True
    parameters.cache_ram_mib = 0  # it would keep up to 8 GB of old conversations
    on_gpu = performance.use_cuda or performance.use_coreml
    parameters.n_gpu_layers = _ALL_LAYERS if on_gpu else 0
    parameters.n_batch = parameters.n_ubatch = GPU_BATCH_TOKENS if on_gpu else BATCH_TOKENS
    if performance.max_threads:
        parameters.cpuparams.n_threads = performance.max_threads
        parameters.cpuparams_batch.n_threads = performance.max_threads
    return parameters
