"""Where log lines go: stderr for what a person must see, userData/logs for everything."""

import logging
import re
from logging.handlers import RotatingFileHandler
from pathlib import Path

FILE_SIZE_BYTES = 5 * 1024 * 1024
KEPT_FILES = 3

# No secret is without one of these words or a long run of characters.
_MAY_HOLD_SECRET = re.compile(
    r"(?i)pass|pwd|secret|token|key|auth|cred|cookie|bearer|sk-|://|[\w+/=.~%:!$|@-]{16,}"
)


class RedactingFormatter(logging.Formatter):
    """Formats as usual, then masks whatever looks like a key, tracebacks included."""

    def format(self, record: logging.LogRecord) -> str:
        """The line without keys."""
        line = super().format(record)
        if not _MAY_HOLD_SECRET.search(line):
            return line
        # Not while the kernel starts: the rules take 10 ms to import.
        from kernel.masking.log_lines import mask_log_line  # noqa: PLC0415

        return mask_log_line(line)


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
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        handler = RotatingFileHandler(
            folder / "kernel.log",
            maxBytes=FILE_SIZE_BYTES,
            backupCount=KEPT_FILES,
            encoding="utf-8",
            errors="backslashreplace",
        )
    except OSError as error:
        logging.getLogger(__name__).warning("no log file: %s", error)
        return
    line = "%(asctime)s %(levelname)s %(threadName)s %(name)s: %(message)s"
    handler.setFormatter(RedactingFormatter(line))
    logging.getLogger().addHandler(handler)
