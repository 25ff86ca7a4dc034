"""Where log lines go: stderr for what a person must see, userData/logs for everything."""

import logging
import re
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path

from kernel.errors import StorageError
from kernel.storage.private_folder import create_private_file, make_private_folder

FILE_SIZE_BYTES = 5 * 1024 * 1024
KEPT_FILES = 3

# No part of the kernel logs a key on purpose; this catches a library or a server that quotes one.
_KEY = re.compile(r"(?i)(bearer\s+|\bsk-|api[-_]?key[\"']?\s*[:=]\s*[\"']?)[^\s\"',;]{6,}")


class RedactingFormatter(logging.Formatter):
    """Formats as usual, then masks whatever looks like a key, tracebacks included."""

    def format(self, record: logging.LogRecord) -> str:
        """The line without keys."""
        return _KEY.sub(r"\1***", super().format(record))


class _PrivateFileHandler(RotatingFileHandler):
    """Only the owner may read what is logged."""

    def _open(self) -> TextIOWrapper:
        create_private_file(Path(self.baseFilename))
        return super()._open()


def to_stderr() -> None:
    """Show warnings on stderr; more would fill a pipe that no front end empties."""
    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    handler.setFormatter(RedactingFormatter("codekernel: %(levelname)s: %(message)s"))
    root = logging.getLogger()
    root.setLevel(logging.INFO)
    root.addHandler(handler)


def to_file(folder: Path) -> None:
    """Keep everything in a rotating file; without a place to write, stderr has to do."""
    try:
        make_private_folder(folder)
        handler = _PrivateFileHandler(
            folder / "kernel.log",
            maxBytes=FILE_SIZE_BYTES,
            backupCount=KEPT_FILES,
            encoding="utf-8",
            errors="backslashreplace",
        )
    except (OSError, StorageError) as error:
        logging.getLogger(__name__).warning("no log file: %s", error)
        return
    line = "%(asctime)s %(levelname)s %(threadName)s %(name)s: %(message)s"
    handler.setFormatter(RedactingFormatter(line))
    logging.getLogger().addHandler(handler)
