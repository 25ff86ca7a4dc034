"""Which model an endpoint serves: a digest of the endpoint, the model's name and probe vectors.

Servers on accelerators do not repeat a vector to the last bit. So the digest is made of what noise
does not change, and on this machine the vectors seen first are compared by their cosine.
"""

import base64
import hashlib
import json
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from codekernel.domain.settings import RemoteModel
from codekernel.domain.untrusted_text import parse_json
from codekernel.remote.embedding_answer import FloatArray
from codekernel.storage.safe_files import write_bytes_atomically

# Nobody's code: sent before anything is allowed, and again now and then.
PROBE_TEXTS = (
    "def parse_header(line: str) -> tuple[str, str]:\n    return line.split(':', 1)",
    "close the session when the user logs out 用户退出时关闭会话",
)

# Measured between runs of one model: above .99999. Between a model and its 4-bit form: below .99.
MIN_PROBE_COSINE = 0.998

# The components that stand out most, by place and sign, are the same in spite of noise.
_DIGESTED_COMPONENTS = 16


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """A served model: ``fingerprint`` names its vectors."""

    fingerprint: str
    dimensions: int
    probes: bytes  # float16

    def matches(self, probes: FloatArray) -> bool:
        """Return whether these vectors of the probe texts come from the same model."""
        known = np.frombuffer(self.probes, np.float16).astype(np.float32)
        if known.size != probes.size:
            return False
        cosines = (known.reshape(probes.shape) * probes).sum(axis=1)
        return bool((cosines >= MIN_PROBE_COSINE).all())


class IdentityStore:
    """The models that were seen last, by endpoint; used by any thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()

    def find(self, model: RemoteModel) -> ModelIdentity | None:
        """Return the model that was served last; None if there was none."""
        entry: Any = self._read().get(_make_key(model))
        try:
            probes = base64.b64decode(entry["probes"])
            return ModelIdentity(str(entry["fingerprint"]), int(entry["dimensions"]), probes)
        except (TypeError, KeyError, ValueError):
            return None

    def identify(self, model: RemoteModel, probes: FloatArray) -> ModelIdentity:
        """Return the identity of the model that gave these probe vectors, and keep it.

        Raises StorageError.
        """
        known = self.find(model)
        if known and known.matches(probes):
            return known
        found = ModelIdentity(
            _compute_fingerprint(model, probes),
            probes.shape[1],
            probes.astype(np.float16).tobytes(),
        )
        with self._lock:
            entries = self._read()
            entries[_make_key(model)] = {
                "fingerprint": found.fingerprint,
                "dimensions": found.dimensions,
                "probes": base64.b64encode(found.probes).decode("ascii"),
            }
            write_bytes_atomically(self._path, json.dumps(entries).encode())
        return found

    def _read(self) -> dict[str, Any]:
        try:
            content = parse_json(self._path.read_bytes())
        except (OSError, ValueError):
            return {}
        return content if isinstance(content, dict) else {}


def _make_key(model: RemoteModel) -> str:
    parts = (model.url, model.model_name, model.document_prefix)
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _compute_fingerprint(model: RemoteModel, probes: FloatArray) -> str:
    digest = hashlib.sha256(f"{_make_key(model)} {probes.shape[1]}".encode())
    for vector in probes:
        largest = np.sort(np.argsort(-np.abs(vector), kind="stable")[:_DIGESTED_COMPONENTS])
        digest.update(largest.astype("<i4").tobytes())
        digest.update((vector[largest] > 0).tobytes())
    return digest.hexdigest()
