"""chunkhound as a rival: its own engine (DuckDB), without embeddings.

Its embedders are web services; offline it parses, chunks, stores, and searches by regular
expression. So it does less work than we do: no vectors and no ranking.
"""

import re
from pathlib import Path
from typing import Any

from rival_process import InstalledRival, RivalProcess
from rival_venv import CACHE, RivalMissing, environment

VERSION = "6.1.0"
# chunkhound fetches DuckDB's vector extension from DuckDB's own server even when it stores no
# vectors; the same file is in a package, whose version must be DuckDB's.
PINS = (
    f"chunkhound=={VERSION}",
    "duckdb==1.5.4",
    "duckdb-extensions==1.5.4",
    "duckdb-extension-vss==1.5.4",
)
MIN_WORD = 3


class Chunkhound(InstalledRival):
    """What its CLI calls for ``index --no-embeddings`` and ``search --regex``."""

    def __init__(self) -> None:
        super().__init__("chunkhound")

    def available(self) -> str | None:
        """Install it if that was not done (1.9 GB, minutes); why it cannot run, or None."""
        try:
            python = environment("chunkhound", PINS)
        except RivalMissing as reason:
            return str(reason)
        home = CACHE / "chunkhound-home"
        home.mkdir(parents=True, exist_ok=True)
        # DuckDB keeps extensions in the home folder; the user's own is left alone. Its CLI writes
        # no debugging lines either.
        environ = {"HOME": str(home), "USERPROFILE": str(home), "LOGURU_LEVEL": "ERROR"}
        script = "rival_chunkhound_child.py"
        self._process = RivalProcess(self.name, python, script, [], environ)
        return None

    def index(self, root: Path) -> dict[str, Any]:
        """Index ``root`` from scratch: seconds, cpu_seconds, files, chunks, rss_mb."""
        return self._ask({"do": "index", "root": str(root)})

    def search(self, query: str, k: int) -> dict[str, Any]:
        """milliseconds, cpu_milliseconds, hits with any word of the query, unranked."""
        return self._ask({"do": "search", "pattern": pattern(query), "k": k})


def pattern(query: str) -> str:
    """A regular expression for any of the query's longer words."""
    words = [re.escape(word) for word in re.findall(r"\w+", query) if len(word) >= MIN_WORD]
    return "|".join(words) or re.escape(query)
