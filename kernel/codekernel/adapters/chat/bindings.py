"""Who may use the bot of a platform, the session of each chat, what buttons mean; on disk.

A person is bound by a code that ``codekernel hub bind`` prints, which is good once.
"""

import hashlib
import json
import secrets
import time
from dataclasses import dataclass

from codekernel.adapters.hub.database import HubDatabase

MIGRATIONS = (
    """CREATE TABLE chat_user (
        platform TEXT NOT NULL, user_id TEXT NOT NULL, name TEXT NOT NULL,
        bound_at INTEGER NOT NULL, PRIMARY KEY (platform, user_id)
    ) STRICT""",
    """CREATE TABLE chat_bind_code (
        platform TEXT PRIMARY KEY, digest TEXT NOT NULL, expires_at INTEGER NOT NULL,
        attempts INTEGER NOT NULL DEFAULT 0
    ) STRICT""",
    """CREATE TABLE chat_binding (
        platform TEXT NOT NULL, chat_id TEXT NOT NULL, session_id TEXT NOT NULL,
        folder TEXT NOT NULL, shown_seq INTEGER NOT NULL, is_notices_only INTEGER,
        PRIMARY KEY (platform, chat_id)
    ) STRICT""",
    """CREATE TABLE chat_stranger (
        platform TEXT NOT NULL, user_id TEXT NOT NULL, PRIMARY KEY (platform, user_id)
    ) STRICT""",
    """CREATE TABLE chat_event (
        platform TEXT NOT NULL, event_id TEXT NOT NULL, handled_at INTEGER NOT NULL,
        PRIMARY KEY (platform, event_id)
    ) STRICT""",
)

# Without letters and digits that look alike.
_CODE_ALPHABET = "ABCDEFGHJKMNPQRSTUVWXYZ23456789"

# 31 to the power of 8 are 39 bits; a code allows MAX_CODE_ATTEMPTS wrong ones.
_CODE_LENGTH = 8

CODE_LIFETIME_SECONDS = 600

MAX_CODE_ATTEMPTS = 10

# Platforms repeat an event within minutes, or within a day after an outage.
EVENT_LIFETIME_SECONDS = 7 * 24 * 3600


@dataclass(frozen=True, slots=True)
class ChatUser:
    """A person who may use the bot."""

    user_id: str
    name: str
    bound_at: int


@dataclass(frozen=True, slots=True)
class ChatBinding:
    """What a chat follows.

    Messages up to ``shown_seq`` were shown; ``is_notices_only`` is None where the settings decide.
    """

    chat_id: str
    session_id: str = ""
    folder: str = ""
    shown_seq: int = 0
    is_notices_only: bool | None = None


class ChatBindings:
    """The bindings of one platform; safe to use from any thread. Raises StorageError."""

    def __init__(self, database: HubDatabase, platform: str) -> None:
        database.migrate("chat", MIGRATIONS)
        self._database = database
        self.platform = platform

    def create_code(self) -> str:
        """Return a new code, which replaces an earlier one."""
        code = "".join(secrets.choice(_CODE_ALPHABET) for _ in range(_CODE_LENGTH))
        expires_at = int(time.time()) + CODE_LIFETIME_SECONDS
        with self._database.write() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO chat_bind_code VALUES (?, ?, ?, 0)",
                (self.platform, _digest_code(code), expires_at),
            )
        return code

    def bind_user(self, code: str, user_id: str, name: str) -> bool:
        """Bind a user by a code, which is used up; false if it is wrong or too old."""
        now = int(time.time())
        with self._database.write() as connection:
            row = connection.execute(
                "UPDATE chat_bind_code SET attempts = attempts + 1 WHERE platform = ?"
                " RETURNING digest, expires_at, attempts",
                (self.platform,),
            ).fetchone()
            if row is None or row[1] < now or row[2] > MAX_CODE_ATTEMPTS:
                return False
            if not secrets.compare_digest(row[0], _digest_code(code)):
                return False
            connection.execute("DELETE FROM chat_bind_code WHERE platform = ?", (self.platform,))
            connection.execute(
                "INSERT OR REPLACE INTO chat_user VALUES (?, ?, ?, ?)",
                (self.platform, user_id, name, now),
            )
        return True

    def is_bound(self, user_id: str) -> bool:
        """Return whether a user may use the bot."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT 1 FROM chat_user WHERE platform = ? AND user_id = ?",
                (self.platform, user_id),
            ).fetchone()
        return row is not None

    def list_users(self) -> list[ChatUser]:
        """Return the bound users, the first one first."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT user_id, name, bound_at FROM chat_user WHERE platform = ?"
                " ORDER BY bound_at, user_id",
                (self.platform,),
            ).fetchall()
        return [ChatUser(*row) for row in rows]

    def unbind_user(self, user_id: str) -> bool:
        """Withdraw a user's right; false if there was none."""
        with self._database.write() as connection:
            found = connection.execute(
                "DELETE FROM chat_user WHERE platform = ? AND user_id = ?",
                (self.platform, user_id),
            )
            return found.rowcount > 0

    def note_stranger(self, user_id: str) -> bool:
        """Return true the first time that a stranger is met, who then gets one answer."""
        with self._database.write() as connection:
            added = connection.execute(
                "INSERT OR IGNORE INTO chat_stranger VALUES (?, ?)", (self.platform, user_id)
            )
            return added.rowcount > 0

    def get_chat(self, chat_id: str) -> ChatBinding:
        """Return what a chat follows; an unknown chat follows nothing."""
        with self._database.read() as connection:
            row = connection.execute(
                f"{_SELECT_CHAT} AND chat_id = ?", (self.platform, chat_id)
            ).fetchone()
        return _build_binding(row) if row else ChatBinding(chat_id)

    def list_chats(self) -> list[ChatBinding]:
        """Return every chat that follows a session or has a folder."""
        with self._database.read() as connection:
            rows = connection.execute(f"{_SELECT_CHAT} ORDER BY chat_id", (self.platform,))
            return [_build_binding(row) for row in rows.fetchall()]

    def save_chat(self, binding: ChatBinding) -> None:
        """Keep what a chat follows."""
        with self._database.write() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO chat_binding VALUES (?, ?, ?, ?, ?, ?)",
                (
                    self.platform,
                    binding.chat_id,
                    binding.session_id,
                    binding.folder,
                    binding.shown_seq,
                    binding.is_notices_only,
                ),
            )

    def save_position(self, chat_id: str, session_id: str, shown_seq: int) -> None:
        """Keep how far a session was shown, unless the chat follows another one by now."""
        with self._database.write() as connection:
            connection.execute(
                "UPDATE chat_binding SET shown_seq = ?"
                " WHERE platform = ? AND chat_id = ? AND session_id = ?",
                (shown_seq, self.platform, chat_id, session_id),
            )

    def is_handled(self, event_id: str) -> bool:
        """Return whether an event of the platform was handled before."""
        with self._database.read() as connection:
            row = connection.execute(
                "SELECT 1 FROM chat_event WHERE platform = ? AND event_id = ?",
                (self.platform, event_id),
            ).fetchone()
        return row is not None

    def mark_handled(self, event_id: str) -> bool:
        """Record that an event was handled; false if it was recorded before."""
        now = int(time.time())
        with self._database.write() as connection:
            connection.execute(
                "DELETE FROM chat_event WHERE handled_at < ?", (now - EVENT_LIFETIME_SECONDS,)
            )
            added = connection.execute(
                "INSERT OR IGNORE INTO chat_event VALUES (?, ?, ?)", (self.platform, event_id, now)
            )
            return added.rowcount > 0


_SELECT_CHAT = (
    "SELECT chat_id, session_id, folder, shown_seq, is_notices_only"
    " FROM chat_binding WHERE platform = ?"
)


def _build_binding(row: tuple[str, str, str, int, int | None]) -> ChatBinding:
    chat_id, session_id, folder, shown_seq, is_notices_only = row
    notices = None if is_notices_only is None else bool(is_notices_only)
    return ChatBinding(chat_id, session_id, folder, shown_seq, notices)


def _digest_code(code: str) -> str:
    # A person types it: case and blanks do not count.
    return hashlib.sha256("".join(code.split()).upper().encode(errors="replace")).hexdigest()


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
