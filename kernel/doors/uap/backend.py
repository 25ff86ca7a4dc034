"""What an agent must offer to be registered, whatever runs it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from kernel.agent.danger import Wish
from kernel.domain.agent_message import AgentMessage
from kernel.domain.content_blocks import ContentBlock

# Called with each message; a growing one comes again under the same id, longer.
OnUpdate = Callable[[AgentMessage], None]


@dataclass(frozen=True, slots=True)
class PermissionRequest:
    """An agent waits until somebody responds to this id."""

    id: str
    session: str
    wish: Wish


OnPermission = Callable[[PermissionRequest], None]


class AgentBackend(Protocol):
    """An agent with any number of sessions; safe to use from several threads."""

    def initialize(self) -> None:
        """Get ready; raises KernelError if that is not possible."""

    def new_session(self) -> str:
        """Begin a session; its id."""

    def prompt(
        self, session: str, content: str | Sequence[ContentBlock], on_update: OnUpdate
    ) -> None:
        """Work until the answer is complete; every message is told. Raises KernelError."""

    def cancel_prompt(self, session: str) -> None:
        """End what the session does now; nothing happens if it does nothing."""

    def on_permission_request(self, handler: OnPermission) -> None:
        """Tell this one when something dangerous is wanted; without one it is refused."""

    def respond_to_permission(self, request: str, *, allowed: bool) -> None:
        """Answer a request; one that nobody waits for any more is ignored."""

    def disconnect(self) -> None:
        """End everything and give back what it holds."""
