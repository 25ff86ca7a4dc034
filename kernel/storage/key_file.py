"""The vault's key in a file that only its owner may read; an existing file is never overwritten."""

import logging
import os
import re
import stat
from contextlib import suppress
from pathlib import Path

from kernel.errors import VaultUnavailable
from kernel.storage.atomic import create_bytes
from kernel.storage.failures import explain

KEY_BYTES = 32

_HEX_KEY = re.compile(rf"[0-9a-fA-F]{{{KEY_BYTES * 2}}}")
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
_logger = logging.getLogger(__name__)


class KeySourceDamaged(VaultUnavailable):
    """A file that should lead to the vault's key does not; ``path`` may be quarantined."""

    def __init__(self, message: str, path: Path) -> None:
        super().__init__(message)
        self.path = path


def key_from_hex(text: str) -> bytes | None:
    """Return the 32 bytes that 64 hexadecimal characters spell, or None for anything else."""
    return bytes.fromhex(text) if _HEX_KEY.fullmatch(text) else None


def read_key_file(path: Path) -> bytes | None:
    """Return the key kept at ``path``, or None if there is no such file."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise explain(error, path) from error
    _close_to_others(path)
    key = key_from_hex(content.decode("ascii", "replace").strip())
    if key is None:
        raise KeySourceDamaged(
            f"The key file {path} is damaged: it should hold 64 hexadecimal characters."
            " It was left as it is. Put it back from a backup, or set CODEKERNEL_VAULT_KEY.",
            path,
        )
    return key


def create_key_file(path: Path, key: bytes) -> bool:
    """Write a new key file; false if one is already there."""
    return create_bytes(path, f"{key.hex()}\n".encode("ascii"), mode=0o600)


def _close_to_others(path: Path) -> None:
    with suppress(OSError):  # the key can be read, and that is what matters now
        if os.name != "nt" and path.stat().st_mode & _OTHERS:
            path.chmod(0o600)
            _logger.warning("the key file %s was open to other accounts; it no longer is", path)
