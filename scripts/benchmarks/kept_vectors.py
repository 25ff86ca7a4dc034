"""Cosines of a model whose vectors are kept for the next run, in ``CODEKERNEL_BENCH_CACHE``."""

import hashlib
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from codekernel.domain.concurrency import CancelToken
from codekernel.inference.model_pool import Embedder

_WAIT_SECONDS = 600


class KeptVectors:
    """A model that reads each text once; without a folder nothing is kept."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        folder = os.environ.get("CODEKERNEL_BENCH_CACHE")
        place = Path(folder) / "read_texts.sqlite" if folder else ":memory:"
        self._database = sqlite3.connect(place, timeout=_WAIT_SECONDS, isolation_level=None)
        self._database.execute("CREATE TABLE IF NOT EXISTS texts (key BLOB PRIMARY KEY, row BLOB)")

    def compute_cosines(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return the cosine of each text and the query."""
        keys = [self._make_key(text) for text in texts]
        found = {key: row for key in set(keys) if (row := self._find(key)) is not None}
        lacking = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        if lacking:
            made = self._embedder.embed_documents(list(lacking.values()), CancelToken())
            lengths = np.maximum(np.linalg.norm(made, axis=1, keepdims=True), 1e-9)
            found |= dict(zip(lacking, (made / lengths).astype(np.float32), strict=True))
            rows = [(key, found[key].tobytes()) for key in lacking]
            self._database.executemany("INSERT OR IGNORE INTO texts VALUES (?, ?)", rows)
        asked = self._embedder.embed_query(query)
        return [float(found[key] @ asked) for key in keys]

    def _make_key(self, text: str) -> bytes:
        whole = f"{self._embedder.fingerprint}\0{text}".encode(errors="surrogatepass")
        return hashlib.blake2b(whole, digest_size=16).digest()

    def _find(self, key: bytes) -> "np.ndarray | None":
        row = self._database.execute("SELECT row FROM texts WHERE key = ?", (key,)).fetchone()
        return np.frombuffer(row[0], np.float32) if row else None
