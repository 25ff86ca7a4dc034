"""Load one model in a fresh process and print its cost: ``FILE [key=value]``."""

import os
import sys
import time
from pathlib import Path

import psutil

os.environ["ORT_DISABLE_TELEMETRY"] = "1"  # read when onnxruntime is imported

import onnxruntime


def load(path: Path, settings: dict[str, str]) -> onnxruntime.InferenceSession:
    """A session on one thread."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    for key, value in settings.items():
        options.add_session_config_entry(key, value)
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def main() -> None:
    """Milliseconds of processor time, then megabytes."""
    process = psutil.Process()
    before, start = process.memory_info().rss, time.process_time()
    session = load(Path(sys.argv[1]), dict(pair.split("=") for pair in sys.argv[2:]))
    taken = time.process_time() - start
    print(1e3 * taken, (process.memory_info().rss - before) / 1e6, session.get_outputs()[0].name)


if __name__ == "__main__":
    main()
