"""LanceDB alone: what storing and searching as many vectors costs with nothing around it."""

import importlib.util
import sys
from pathlib import Path
from typing import Any

from rival_process import RivalProcess


class LanceAlone:
    """A table of vectors in one commit, searched exactly, with the LanceDB the project uses."""

    name = "LanceDB alone"

    def __init__(self) -> None:
        self._process = RivalProcess("lance", Path(sys.executable), "rival_lance_child.py", [], {})

    def available(self) -> str | None:
        """Why it cannot run, or None."""
        if importlib.util.find_spec("lancedb") is None:
            return "lancedb is not installed; run this through scripts/bench.py"
        return None

    def index(self, vectors: Path | int) -> dict[str, Any]:
        """Store the rows of a .npy file, or that many random ones: seconds, cpu_seconds, rss_mb."""
        source: object = vectors if isinstance(vectors, int) else str(vectors)
        return self._process.ask({"do": "index", "vectors": source})

    def search(self, number: int, k: int) -> dict[str, Any]:
        """milliseconds, cpu_milliseconds, and as hits the rows nearest to row ``number``."""
        return self._process.ask({"do": "search", "number": number, "k": k})

    def ready(self) -> dict[str, float]:
        """import_seconds of the running child."""
        return self._process.ready

    def close(self) -> None:
        """End the child."""
        self._process.close()
