"""Logging: warnings go to stderr; secrets are redacted and control characters escaped."""

import logging
import re

from codekernel.domain.untrusted_text import escape_text

# No secret is without one of these words or a long run of characters.
_MAY_HOLD_SECRET = re.compile(
    r"(?i)pass|pwd|secret|token|key|auth|cred|cookie|bearer|sk-|://|[\w+/=.~%:!$|@-]{16,}"
)


class RedactingFormatter(logging.Formatter):
    """Formats as usual, then masks keys and escapes controls, tracebacks included."""

    def format(self, record: logging.LogRecord) -> str:
        """The line without keys and control sequences."""
        line = super().format(record)
        # The name of a module is as long as some tokens.
        if _MAY_HOLD_SECRET.search(line.replace(record.name, "", 1)):
            # Not while the kernel starts: the rules take 10 ms to import.
            from codekernel.masking.masker import mask_log_line  # noqa: PLC0415

            line = mask_log_line(line)
        return escape_text(line)


def log_to_stderr() -> None:
    """Show warnings on stderr; more would fill a pipe that no front end empties."""
    handler = logging.StreamHandler()
    handler.setLevel(logging.WARNING)
    handler.setFormatter(RedactingFormatter("codekernel: %(levelname)s: %(message)s"))
    root = logging.getLogger()
    root.setLevel(logging.INFO)
    root.addHandler(handler)
