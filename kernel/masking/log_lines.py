"""Keys taken out of log lines, where what stands behind the word is never needed."""

import re

from kernel.masking.masker import mask_secrets

HIDDEN = "***"
# No part of the kernel logs a key on purpose; this catches a library or a server that quotes one.
_KEY = re.compile(r"(?i)(bearer\s+|\bsk-|api[-_]?key[\"']?\s*[:=]\s*[\"']?)[^\s\"',;]{6,}")


def mask_log_line(line: str) -> str:
    """Return a line, or a traceback, without keys."""
    return mask_secrets(_KEY.sub(rf"\1{HIDDEN}", line)).text
