"""semble as a rival, with our own static model: both then embed with tables of the same size."""

import hashlib
import subprocess
from pathlib import Path
from typing import Any

from rival_process import InstalledRival, RivalProcess
from rival_venv import CACHE, ROOT, RivalMissing, environment

VERSION = "0.7.0"
# onnx only reads the table out of our model; semble never imports it.
PINS = (f"semble=={VERSION}", "model2vec==0.10.0", "onnx==1.23.2")
MODEL = ROOT / "models" / "codekernel-static-v3"


class Semble(InstalledRival):
    """semble as its CLI uses it: code only, or with ``everything`` documents and settings too.

    With ``damped`` its embedder counts a repeated word like ours does (see rival_semble_child.py).
    """

    def __init__(self, *, everything: bool = False, damped: bool = False) -> None:
        super().__init__(
            "semble" + (" all files" if everything else "") + (" damped" if damped else "")
        )
        self._flags = ["--all"] * everything + ["--damped"] * damped

    def available(self) -> str | None:
        """Install it and convert the model if that was not done; why it cannot run, or None."""
        try:
            python = environment("semble", PINS)
            model = _model(python)
        except RivalMissing as reason:
            return str(reason)
        # It looks for indexes and keeps statistics there; the benchmark must not touch the user's.
        environ = {"SEMBLE_CACHE_LOCATION": str(CACHE / "semble")}
        log = self.name.replace(" ", "-")
        arguments = [str(model), *self._flags]
        self._process = RivalProcess(log, python, "rival_semble_child.py", arguments, environ)
        return None

    def index(self, root: Path) -> dict[str, Any]:
        """Index ``root`` anew: seconds, cpu_seconds, save_seconds, files, chunks, rss_mb."""
        return self._ask({"do": "index", "root": str(root)})

    def search(self, query: str, k: int) -> dict[str, Any]:
        """milliseconds, cpu_milliseconds, and hits as [path, first line, last line]."""
        return self._ask({"do": "search", "query": query, "k": k})


def _model(python: Path) -> Path:
    with (MODEL / "model.onnx").open("rb") as file:
        key = hashlib.file_digest(file, "sha256").hexdigest()[:12]
    folder = CACHE / f"model2vec-{key}"
    if not (folder / "config.json").exists():
        script = Path(__file__).with_name("rival_semble_model.py")
        command = [str(python), str(script), str(MODEL), str(folder)]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode:
            raise RivalMissing(f"the model cannot be converted: {done.stderr.strip()[-200:]}")
    return folder
