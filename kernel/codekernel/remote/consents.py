"""Which repository may be sent to which endpoint: asked once, kept in userData.

Written by any kernel of the folder, so the file is read again when it changed.
"""

import json
import logging
import threading
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from codekernel.domain.settings import RemoteModel
from codekernel.domain.untrusted_text import parse_json
from codekernel.storage.safe_files import write_bytes_atomically

logger = logging.getLogger(__name__)


class Consent(Enum):
    """What a person has said of sending a repository to an endpoint."""

    NOT_ASKED = "not asked"
    ALLOWED = "allowed"
    DENIED = "denied"


@dataclass(frozen=True, slots=True)
class ConsentKey:
    """A repository and an endpoint; another model there is another matter.

    ``identity`` tells models apart that are served under one name; empty for rerankers.
    """

    repository: str
    url: str
    model: str
    identity: str = ""

    @classmethod
    def of(cls, root: Path, model: RemoteModel, identity: str = "") -> "ConsentKey":
        """Return the key for a repository and a model of the settings."""
        return cls(str(root), model.url, model.model_name, identity)


class ConsentRegister:
    """The answers of one userData folder; used by any thread."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._answers: dict[ConsentKey, bool] = {}
        self._stamp: tuple[int, ...] = ()

    def get(self, key: ConsentKey) -> Consent:
        """Return what was said; only an answer that can be read counts."""
        with self._lock:
            self._read_if_changed()
            answer = self._answers.get(key)
        if answer is None:
            return Consent.NOT_ASKED
        return Consent.ALLOWED if answer else Consent.DENIED

    def set(self, key: ConsentKey, *, allowed: bool) -> None:
        """Keep an answer. Raises StorageError."""
        with self._lock:
            self._read_if_changed()
            self._answers[key] = allowed
            rows = [
                {
                    "repository": each.repository,
                    "url": each.url,
                    "model": each.model,
                    "identity": each.identity,
                    "allowed": answer,
                }
                for each, answer in self._answers.items()
            ]
            write_bytes_atomically(self._path, json.dumps({"consents": rows}, indent=1).encode())
            self._stamp = self._read_stamp()

    def _read_stamp(self) -> tuple[int, ...]:
        try:
            found = self._path.stat()
        except OSError:
            return ()
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _read_if_changed(self) -> None:
        stamp = self._read_stamp()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        try:
            rows = parse_json(self._path.read_bytes())["consents"] if stamp else []
            self._answers = {
                ConsentKey(
                    str(row["repository"]), str(row["url"]), str(row["model"]), str(row["identity"])
                ): row["allowed"] is True
                for row in rows
            }
        except (OSError, ValueError, TypeError, KeyError):
            logger.warning("%s cannot be read: nothing is sent until it is allowed", self._path)
            self._answers = {}
