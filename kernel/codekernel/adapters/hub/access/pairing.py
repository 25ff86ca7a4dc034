"""Pairing codes: a code is shown in the terminal, good once and for ten minutes.

Only hashes are kept, in the database, so that `codekernel hub pair` can make a code for the hub
that runs.
"""

import secrets
import time
from collections.abc import Callable

from codekernel.adapters.hub.access.devices import (
    DeviceKind,
    DeviceRegistry,
    PairedDevice,
    hash_secret,
)
from codekernel.adapters.hub.database import HubDatabase

CODE_TTL_SECONDS = 600

# Without letters and digits that look alike; 16 of them have 79 bits.
_ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"

_GROUPS, _GROUP_CHARS = 4, 4

_MIGRATIONS = (
    "CREATE TABLE pairing (code_hash TEXT PRIMARY KEY, expires_at INTEGER NOT NULL) STRICT",
)


class Pairing:
    """Makes codes, and exchanges each for the key of a device once."""

    def __init__(
        self,
        database: HubDatabase,
        devices: DeviceRegistry,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._clock = clock
        self._database = database
        self._devices = devices
        database.migrate("pairing", _MIGRATIONS)

    def make_code(self) -> str:
        """Return a new code; codes that have expired are forgotten."""
        code = "-".join(
            "".join(secrets.choice(_ALPHABET) for _ in range(_GROUP_CHARS)) for _ in range(_GROUPS)
        )
        now = int(self._clock())
        with self._database.write() as connection:
            connection.execute("DELETE FROM pairing WHERE expires_at <= ?", (now,))
            connection.execute(
                "INSERT INTO pairing VALUES (?, ?)", (_hash_code(code), now + CODE_TTL_SECONDS)
            )
        return code

    def redeem(self, code: str, name: str, kind: DeviceKind) -> tuple[PairedDevice, str] | None:
        """Use up a code; return the new device and its key, None if the code is not good."""
        with self._database.write() as connection:
            used = connection.execute(
                "DELETE FROM pairing WHERE code_hash = ? AND expires_at > ?",
                (_hash_code(code), int(self._clock())),
            )
            if used.rowcount != 1:
                return None
            return self._devices.add_within(connection, name, kind)


def _hash_code(code: str) -> str:
    """Return the hash of a code, however its letters and dashes are written."""
    return hash_secret("".join(code.upper().replace("-", "").split()))
