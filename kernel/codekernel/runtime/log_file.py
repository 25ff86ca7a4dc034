"""The log of a kernel: everything goes to rotating files in userData/logs.

Clients keep none, and do without ``logging.handlers``, which takes half a megabyte.
"""

import logging
import os
import sys
from contextlib import suppress
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path

from codekernel.errors import KernelError
from codekernel.runtime.logging_setup import RedactingFormatter
from codekernel.storage.quarantine import rename_to_quarantine
from codekernel.storage.safe_files import create_private_file, make_private_folder

MAX_LOG_FILE_BYTES = 5 * 1024 * 1024

MAX_LOG_BACKUPS = 3


class ResilientFileHandler(RotatingFileHandler):
    """Says once that the file cannot be written, drops lines meanwhile, and goes on by itself.

    Only the owner may read what is logged.
    """

    _is_failing = False

    def _open(self) -> TextIOWrapper:
        create_private_file(Path(self.baseFilename))
        return super()._open()

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the base class's name
        """Let go of the file, so that no half of a line waits in a buffer; the next line opens it.

        The base class prints a traceback for each line that a full disk does not take.
        """
        error = sys.exc_info()[1]
        if not isinstance(error, OSError | KernelError):  # a mistake in the call, not the disk
            super().handleError(record)
            return
        stream, self.stream = self.stream, None
        if stream is not None:
            with suppress(OSError, ValueError):
                stream.close()
        if not self._is_failing:
            self._is_failing = True
            with suppress(OSError, ValueError, AttributeError):
                sys.stderr.write(f"codekernel: the log cannot be written for now: {error}\n")

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line; whatever lies in the file's place is set aside first."""
        if self.stream is None:
            try:
                prepare_log_path(Path(self.baseFilename))
            except (KernelError, OSError):
                self.handleError(record)
                return
        super().emit(record)
        if self.stream is not None:
            self._is_failing = False


def prepare_log_path(file: Path) -> None:
    """Make the folder of a log; a pipe or a folder in its place is renamed. Raises StorageError."""
    if os.path.lexists(file.parent) and not file.parent.is_dir():
        rename_to_quarantine(file.parent)
    make_private_folder(file.parent)
    if os.path.lexists(file) and not file.is_file():  # opening a pipe would wait for a reader
        rename_to_quarantine(file)


def log_to_file(folder: Path) -> None:
    """Keep everything in a rotating file, as long as there is a place to write it."""
    handler = ResilientFileHandler(
        folder / "kernel.log",
        maxBytes=MAX_LOG_FILE_BYTES,
        backupCount=MAX_LOG_BACKUPS,
        encoding="utf-8",
        errors="backslashreplace",
        delay=True,
    )
    line = "%(asctime)s %(levelname)s %(threadName)s %(name)s: %(message)s"
    handler.setFormatter(RedactingFormatter(line))
    root = logging.getLogger()
    root.setLevel(logging.INFO)
    root.addHandler(handler)
