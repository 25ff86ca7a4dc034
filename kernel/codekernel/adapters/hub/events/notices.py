"""Notices for pages that are visible: an agent waits for a permission, or has ended its turn."""

from codekernel.domain.agent_sessions import AgentSessionRecord

MAX_NOTICE_CHARS = 150


class NoticeFinder:
    """Compares each state of a session with the one before; used by one thread at a time."""

    def __init__(self) -> None:
        self._pending: dict[str, frozenset[str]] = {}
        self._thinking: set[str] = set()

    def find(self, record: AgentSessionRecord) -> tuple[str, str] | None:
        """Return the title and text of a notice that is due; None if there is none."""
        waiting = {each.id: each for each in record.pending_permissions}
        known = self._pending.get(record.id, frozenset())
        was_thinking = record.id in self._thinking
        self._pending[record.id] = frozenset(waiting)
        (self._thinking.add if record.is_thinking else self._thinking.discard)(record.id)
        name = record.name or record.folder
        new = [permission for key, permission in waiting.items() if key not in known]
        if new:
            arguments = ", ".join(f"{key}: {value}" for key, value in new[0].arguments.items())
            return f"{name} waits for you", f"{new[0].tool} {arguments}"[:MAX_NOTICE_CHARS]
        if was_thinking and not record.is_thinking:
            return f"{name} is done", record.folder
        return None

    def forget(self, session_id: str) -> None:
        """Forget a session that was deleted."""
        self._pending.pop(session_id, None)
        self._thinking.discard(session_id)
