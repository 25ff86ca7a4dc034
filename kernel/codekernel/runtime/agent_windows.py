"""What windows and terminals use of turns that go on without them: agents' and answers."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:  # 0.1 s to import, which the first task can wait for
    from codekernel.domain.concurrency import CancelToken
    from codekernel.domain.turn_events import ShownEvent, TransientEvent
    from codekernel.protocol.messages.agent_turns import BeginAgentTurn
    from codekernel.protocol.messages.conversation import BeginConversation


class FollowedTurn(Protocol):
    """A running turn, which goes on whoever follows it."""

    @property
    def task(self) -> "BeginAgentTurn | BeginConversation":
        """What was asked."""

    @property
    def folder(self) -> Path:
        """That of its repository."""

    def follow(self, cancel: "CancelToken") -> "Iterator[TransientEvent | ShownEvent]":
        """Yield everything so far, then what comes, until its end, or until cancelled."""


class AgentWindows(Protocol):
    """The turns in conversations that go on, for all windows; safe to use from any thread.

    ``client`` is the name of the one that asks.
    """

    def begin(
        self, task: "BeginAgentTurn", folder: Path, client: str, *, is_mirrored: bool
    ) -> FollowedTurn:
        """Accept a task; it goes on without the window. Raises as ``Conversations.begin`` does."""

    def begin_question(
        self, asked: "BeginConversation", folder: Path, *, is_mirrored: bool
    ) -> FollowedTurn:
        """Accept a question; it is answered without the window. Raises as above."""

    def find(self, conversation_id: int) -> FollowedTurn | None:
        """Return the turn that runs in a conversation."""

    def list_running(self, folder: Path | None = None) -> "list[FollowedTurn]":
        """Return the turns that run in a folder, or in all."""

    def decide(
        self,
        conversation_id: int,
        tool_use_id: str,
        client: str,
        *,
        allowed: bool,
        option_id: str,
    ) -> None:
        """Answer a tool that waits; ``option_id`` is one of domain/agent_sessions.py, or empty.

        Raises PermissionAnswered, or WrongParam if none waits.
        """

    def stop(self, conversation_id: int, client: str) -> None:
        """Stop a turn; stopping nothing succeeds."""

    def forget(self, conversation_id: int) -> None:
        """Delete the session of a conversation that was deleted."""


OpenAgentWindows = Callable[[], AgentWindows]
