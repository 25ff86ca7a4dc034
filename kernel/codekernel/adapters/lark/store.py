"""What the adapter keeps in the hub's database: events that came, cards that were sent.

An event is on disk before it is acknowledged, and a card's message id before the next card goes
out: after a restart nothing is lost and nothing is sent twice.
"""

import json
import time
from dataclasses import dataclass
from typing import Any

from codekernel.adapters.hub.database import HubDatabase

LARK_MIGRATIONS = (
    """CREATE TABLE lark_event (
        number INTEGER PRIMARY KEY, event_id TEXT NOT NULL UNIQUE, payload TEXT NOT NULL,
        received_at INTEGER NOT NULL, is_handled INTEGER NOT NULL DEFAULT 0
    ) STRICT""",
    """CREATE TABLE lark_feed (
        chat_id TEXT NOT NULL, session_id TEXT NOT NULL, shown_seq INTEGER NOT NULL,
        PRIMARY KEY (chat_id, session_id)
    ) STRICT""",
    """CREATE TABLE lark_card (
        chat_id TEXT NOT NULL, session_id TEXT NOT NULL, name TEXT NOT NULL,
        message_id TEXT NOT NULL, digest TEXT NOT NULL,
        PRIMARY KEY (chat_id, session_id, name)
    ) STRICT""",
)

# The platform repeats an event for some hours at most.
EVENT_LIFETIME_SECONDS = 24 * 3600

_DELETE_FEED = (
    "DELETE FROM lark_feed WHERE chat_id = ? AND session_id = ?",
    "DELETE FROM lark_card WHERE chat_id = ? AND session_id = ?",
)


@dataclass(frozen=True, slots=True)
class SentCard:
    """A card of a chat: its message, and the digest of what it shows."""

    message_id: str
    digest: str


class LarkStore:
    """Safe to use from any thread; every method may raise StorageError."""

    def __init__(self, database: HubDatabase) -> None:
        database.migrate("lark", LARK_MIGRATIONS)
        self._database = database

    def add_event(self, event_id: str, event: dict[str, Any]) -> bool:
        """Keep an event until it is handled; false if it came before."""
        now = int(time.time())
        with self._database.write() as connection:
            connection.execute(
                "DELETE FROM lark_event WHERE is_handled AND received_at < ?",
                (now - EVENT_LIFETIME_SECONDS,),
            )
            added = connection.execute(
                "INSERT OR IGNORE INTO lark_event (event_id, payload, received_at)"
                " VALUES (?, ?, ?)",
                (event_id, json.dumps(event), now),
            )
            return added.rowcount > 0

    def list_unhandled(self) -> list[dict[str, Any]]:
        """Return the events that were not handled yet, in the order of their arrival."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT payload FROM lark_event WHERE NOT is_handled ORDER BY number"
            ).fetchall()
        return [json.loads(payload) for (payload,) in rows]

    def mark_handled(self, event_id: str) -> None:
        """Record that an event had its effect; what was said is not kept."""
        with self._database.write() as connection:
            connection.execute(
                "UPDATE lark_event SET is_handled = 1, payload = '' WHERE event_id = ?", (event_id,)
            )

    def list_feeds(self) -> list[tuple[str, str, int]]:
        """Return chat, session and the last number shown of everything that is followed."""
        with self._database.read() as connection:
            return connection.execute(
                "SELECT chat_id, session_id, shown_seq FROM lark_feed ORDER BY chat_id, session_id"
            ).fetchall()

    def save_feed(self, chat_id: str, session_id: str, shown_seq: int) -> None:
        """Keep how far a session was shown in a chat."""
        with self._database.write() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO lark_feed VALUES (?, ?, ?)",
                (chat_id, session_id, shown_seq),
            )

    def delete_feed(self, chat_id: str, session_id: str) -> None:
        """Forget a session in a chat, and its cards."""
        with self._database.write() as connection:
            for statement in _DELETE_FEED:
                connection.execute(statement, (chat_id, session_id))

    def list_cards(self, chat_id: str, session_id: str) -> dict[str, SentCard]:
        """Return the cards that may still change, by their names."""
        with self._database.read() as connection:
            rows = connection.execute(
                "SELECT name, message_id, digest FROM lark_card"
                " WHERE chat_id = ? AND session_id = ?",
                (chat_id, session_id),
            ).fetchall()
        return {name: SentCard(message_id, digest) for name, message_id, digest in rows}

    def save_card(self, chat_id: str, session_id: str, name: str, card: SentCard) -> None:
        """Keep what a card shows now."""
        with self._database.write() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO lark_card VALUES (?, ?, ?, ?, ?)",
                (chat_id, session_id, name, card.message_id, card.digest),
            )

    def finish_cards(self, chat_id: str, session_id: str, shown_seq: int, names: list[str]) -> None:
        """Record in one transaction what was shown to its end, and forget its cards."""
        with self._database.write() as connection:
            connection.execute(
                "UPDATE lark_feed SET shown_seq = ? WHERE chat_id = ? AND session_id = ?",
                (shown_seq, chat_id, session_id),
            )
            connection.executemany(
                "DELETE FROM lark_card WHERE chat_id = ? AND session_id = ? AND name = ?",
                [(chat_id, session_id, name) for name in names],
            )
