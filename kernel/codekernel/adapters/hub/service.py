"""The hub as a whole, and what a chat adapter is to it.

Chats (Lark, Telegram) run inside the hub's process. Each gets the sessions of all machines as one
``HubSessions`` and renders them; the hub starts and stops it.
"""

from typing import Protocol

from codekernel.domain.agent_sessions import (
    AgentSessionRecord,
    AgentSessions,
    MachineRecord,
    NewSession,
)


class HubSessions(AgentSessions, Protocol):
    """The sessions of all machines as if they were of one; safe to use from any thread.

    A call goes to the machine that has the session. ``get_machine`` and ``start_session`` are about
    the machine of the hub itself. Positions of ``subscribe`` are the hub's own; after a restart of
    the hub, and after a machine was away for too long, everything is read anew: a session that
    changed meanwhile is told by SESSION_UPDATED and MESSAGES_INVALIDATED.
    """

    def list_machines(self) -> list[MachineRecord]:
        """Return all machines, the hub's own first; one that is away has ``is_active`` false."""

    def start_session_on(self, machine_id: str, new: NewSession) -> AgentSessionRecord:
        """Start a session on a machine. Raises MachineNotFound or MachineOffline."""


class ChatAdapter(Protocol):
    """A chat platform through which people use the sessions."""

    @property
    def name(self) -> str:
        """What the log calls it, for example ``telegram``."""

    def start(self, machines: HubSessions) -> None:
        """Begin to serve, on threads of its own; returns at once. Raises KernelError."""

    def stop(self) -> None:
        """End within seconds; nothing is called after it."""
