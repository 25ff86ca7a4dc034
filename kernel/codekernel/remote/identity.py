"""Which model an endpoint serves: a digest of the endpoint, the model's name and probe vectors.

Servers do not repeat a vector to the last bit: accelerators, and whatever else is in the batch,
change it. So the digest is computed once, from what is seen first; afterwards vectors are compared
with those by their cosine, on this machine, and on those of team mates by what a store has of it.
"""

import base64
import hashlib
import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

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

# Measured between runs of one model: above .99999, and .99995 beside other texts in llama.cpp's
# batches. Between a model and its 4-bit form: below .99.
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


class SharedIdentities(Protocol):
    """What a team has noted of models behind addresses."""

    def read(self, key: str) -> list[bytes]:
        """Return what was noted of a model, oldest first."""

    def publish(self, key: str, note: bytes) -> bool:
        """Note something of a model; return whether it is kept."""


class IdentityStore:
    """The models that were seen last, by endpoint; used by any thread."""

    def __init__(
        self, path: Path, get_shared: Callable[[], SharedIdentities | None] = lambda: None
    ) -> None:
        self._path, self._get_shared = path, get_shared
        self._lock = threading.Lock()

    def find(self, model: RemoteModel) -> ModelIdentity | None:
        """Return the model that was served last; None if there was none."""
        return _parse_entry(self._read().get(_make_key(model)))

    def identify(self, model: RemoteModel, probes: FloatArray) -> ModelIdentity:
        """Return the identity of the model that gave these probe vectors, and keep it.

        Raises StorageError.
        """
        key = _make_key(model)
        entry: Any = self._read().get(key)
        known = _parse_entry(entry)
        is_known = bool(known and known.matches(probes))
        if known and is_known and entry.get("is_noted"):
            return known
        shared = self._get_shared()
        if known and is_known and shared is None:
            return known
        if known is None or not is_known:
            known = _find_noted(model, probes, shared.read(key) if shared else [])
            known = known or _make_identity(model, probes)
        note = {
            "fingerprint": known.fingerprint,
            "dimensions": known.dimensions,
            "probes": base64.b64encode(known.probes).decode("ascii"),
        }
        is_noted = bool(shared and shared.publish(key, json.dumps(note).encode()))
        with self._lock:
            entries = self._read()
            entries[key] = note | {"is_noted": is_noted}
            write_bytes_atomically(self._path, json.dumps(entries).encode())
        return known

    def _read(self) -> dict[str, Any]:
        try:
            content = parse_json(self._path.read_bytes())
        except (OSError, ValueError):
            return {}
        return content if isinstance(content, dict) else {}


def _make_key(model: RemoteModel) -> str:
    parts = (model.url, model.model_name, model.document_prefix)
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _parse_entry(entry: Any) -> ModelIdentity | None:
    try:
        probes = base64.b64decode(entry["probes"])
        return ModelIdentity(str(entry["fingerprint"]), int(entry["dimensions"]), probes)
    except (TypeError, KeyError, ValueError):
        return None


def _make_identity(model: RemoteModel, probes: FloatArray) -> ModelIdentity:
    kept = probes.astype(np.float16)
    fingerprint = _compute_fingerprint(model, kept.astype(np.float32))
    return ModelIdentity(fingerprint, probes.shape[1], kept.tobytes())


def _find_noted(
    model: RemoteModel, probes: FloatArray, notes: Sequence[bytes]
) -> ModelIdentity | None:
    """Return the first of the team's notes whose model gives these vectors, and is called so."""
    for note in notes:
        try:
            found = _parse_entry(parse_json(note))
        except ValueError:
            continue
        if found and found.matches(probes):
            kept = np.frombuffer(found.probes, np.float16).astype(np.float32)
            named = _make_identity(model, kept.reshape(probes.shape))
            if named == found:
                return found
    return None


def _compute_fingerprint(model: RemoteModel, probes: FloatArray) -> str:
    digest = hashlib.sha256(f"{_make_key(model)} {probes.shape[1]}".encode())
    for vector in probes:
        largest = np.sort(np.argsort(-np.abs(vector), kind="stable")[:_DIGESTED_COMPONENTS])
        digest.update(largest.astype("<i4").tobytes())
        digest.update((vector[largest] > 0).tobytes())
    return digest.hexdigest()
