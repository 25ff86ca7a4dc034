"""What a button of a chat stands for, kept on disk under an opaque id.

Platforms hand back only a few bytes of a button (Telegram: 64), and what they hand back may be
forged: an id that was not given out means nothing.
"""

import hashlib
import json
import secrets
import time
from dataclasses import dataclass

from codekernel.adapters.hub.database import HubDatabase

BUTTON_MIGRATIONS = (
    """CREATE TABLE chat_button (
        id TEXT PRIMARY KEY, platform TEXT NOT NULL, chat_id TEXT NOT NULL,
        payload TEXT NOT NULL, created_at INTEGER NOT NULL
    ) STRICT""",
    "CREATE TABLE chat_button_secret (secret TEXT NOT NULL) STRICT",
)

# Of the id, which is base 16.
_ID_CHARS = 24

# A message with buttons may be pressed long after; then it is said that it is too late.
BUTTON_LIFETIME_SECONDS = 30 * 24 * 3600


@dataclass(frozen=True, slots=True)
class PermissionButton:
    """An answer to a permission."""

    session_id: str
    permission_id: str
    is_allowed: bool
    for_turn: bool = False
    option_id: str = ""


@dataclass(frozen=True, slots=True)
class CommandButton:
    """A command, as if it were typed."""

    command: str


ButtonMeaning = PermissionButton | CommandButton


class ChatButtons:
    """The buttons of one platform; safe to use from any thread. Raises StorageError."""

    def __init__(self, database: HubDatabase, platform: str) -> None:
        database.migrate("chat_buttons", BUTTON_MIGRATIONS)
        self._database = database
        self._platform = platform
        self._secret = self._read_secret()

    def register(self, chat_id: str, meaning: ButtonMeaning) -> str:
        """Return the id of a button; the same one for the same meaning in the same chat."""
        payload = _encode_meaning(meaning)
        text = f"{self._secret}\0{self._platform}\0{chat_id}\0{payload}"
        button_id = hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:_ID_CHARS]
        now = int(time.time())
        with self._database.write() as connection:
            connection.execute(
                "DELETE FROM chat_button WHERE created_at < ?", (now - BUTTON_LIFETIME_SECONDS,)
            )
            connection.execute(
                "INSERT OR IGNORE INTO chat_button VALUES (?, ?, ?, ?, ?)",
                (button_id, self._platform, chat_id, payload, now),
            )
        return button_id

    def find(self, chat_id: str, button_id: str) -> ButtonMeaning | None:
        """Return what a button of a chat stands for; None if it is unknown there."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT payload FROM chat_button WHERE id = ? AND platform = ? AND chat_id = ?",
                (button_id, self._platform, chat_id),
            ).fetchone()
        return _decode_meaning(row[0]) if row else None

    def _read_secret(self) -> str:
        with self._database.write() as connection:
            row = connection.execute("SELECT secret FROM chat_button_secret").fetchone()
            if row:
                return str(row[0])
            secret = secrets.token_hex(16)
            connection.execute("INSERT INTO chat_button_secret VALUES (?)", (secret,))
        return secret


def _encode_meaning(meaning: ButtonMeaning) -> str:
    if isinstance(meaning, CommandButton):
        return json.dumps([meaning.command])
    return json.dumps(
        [
            meaning.session_id,
            meaning.permission_id,
            meaning.is_allowed,
            meaning.for_turn,
            meaning.option_id,
        ]
    )


def _decode_meaning(payload: str) -> ButtonMeaning:
    fields = json.loads(payload)
    return CommandButton(*fields) if len(fields) == 1 else PermissionButton(*fields)
