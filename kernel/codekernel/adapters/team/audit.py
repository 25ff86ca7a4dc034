"""Who asked what: lines of JSON in ``userData/team/audit.log``, rotated, secrets masked."""

import json
import logging
import os
import time
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any

from codekernel.masking.masker import mask_secrets

MAX_FILE_BYTES, MAX_FILES = 20 * 1024 * 1024, 20

# Of a query: what comes after says nothing more about who looks for what.
MAX_TEXT_CHARS = 500


class _PrivateFileHandler(RotatingFileHandler):
    """A file that only its owner can read."""

    def _open(self) -> Any:
        return os.fdopen(
            os.open(self.baseFilename, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
            "a",
            encoding="utf-8",
        )


class AuditLog:
    """Appends one line for each request; used by any thread."""

    def __init__(self, path: Path, max_bytes: int = MAX_FILE_BYTES) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._handler = _PrivateFileHandler(path, maxBytes=max_bytes, backupCount=MAX_FILES)
        self._handler.setFormatter(logging.Formatter("%(message)s"))

    def write(self, **facts: object) -> None:
        """Append the facts of one request."""
        shown = {
            name: mask_secrets(value[:MAX_TEXT_CHARS]).text if isinstance(value, str) else value
            for name, value in facts.items()
        }
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        line = json.dumps({"at": at, **shown})
        self._handler.handle(logging.makeLogRecord({"msg": line}))

    def close(self) -> None:
        """Close the file."""
        self._handler.close()
