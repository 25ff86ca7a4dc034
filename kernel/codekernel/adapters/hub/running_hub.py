"""Where the hub of a userData folder runs, and its pairing code, for commands in a terminal."""

import json
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import segno

from codekernel.adapters.hub.database import HUB_FOLDER
from codekernel.storage.safe_files import make_private_folder, write_bytes_atomically

ADDRESS_FILE = "address.json"


@dataclass(frozen=True, slots=True)
class RunningHub:
    """``url`` is for devices; ``port`` is on this machine; ``fingerprint`` is of its TLS."""

    url: str
    port: int
    is_secure: bool = False
    fingerprint: str = ""

    def write(self, user_data: Path) -> None:
        """Note where the hub runs. Raises StorageError."""
        make_private_folder(user_data / HUB_FOLDER)
        content = json.dumps(asdict(self)).encode()
        write_bytes_atomically(user_data / HUB_FOLDER / ADDRESS_FILE, content)

    @classmethod
    def read(cls, user_data: Path) -> "RunningHub | None":
        """Return where the last hub ran or runs; None if that is not known."""
        try:
            content = json.loads((user_data / HUB_FOLDER / ADDRESS_FILE).read_bytes())
            return cls(**content)
        except (OSError, ValueError, TypeError):
            return None

    @staticmethod
    def remove(user_data: Path) -> None:
        """Note that no hub runs."""
        with suppress(OSError):
            (user_data / HUB_FOLDER / ADDRESS_FILE).unlink()


# Around a QR code; scanners need it.
QUIET_ZONE = 2

_BLOCKS = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}


def render_qr_code(text: str) -> list[str]:
    """Return the lines of a QR code; two rows of modules are one line."""
    code = segno.make_qr(text, error="m")
    rows = [[not dark for dark in row] for row in code.matrix_iter(border=QUIET_ZONE)]
    if len(rows) % 2:
        rows.append([True] * len(rows[0]))
    return [
        "".join(_BLOCKS[pair] for pair in zip(upper, lower, strict=True))
        for upper, lower in zip(rows[::2], rows[1::2], strict=True)
    ]
