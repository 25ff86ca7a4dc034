"""An agent's work as lines, each an AgentMessage."""

from collections.abc import Iterable

from kernel.agent.events import AgentEvent
from kernel.agent.growing import Growing
from kernel.domain.agent_message import ASSISTANT, AgentMessage
from kernel.domain.content_blocks import Text
from kernel.doors.uap.reading import as_line


class UapLines:
    """``partial``: also messages that are not whole yet."""

    def __init__(self, *, partial: bool) -> None:
        self._growing = Growing(partial=partial)

    def greeting(self, _session: str, *, resumed: bool, unknown: Iterable[str]) -> Iterable[bytes]:  # noqa: ARG002
        """Nothing: the protocol has no word for it."""
        return ()

    def lines(self, event: AgentEvent | None) -> Iterable[bytes]:
        """The messages that are due."""
        return map(as_line, self._growing.messages(event))

    def error(self, message: str) -> bytes:
        """A message that says why there is no other."""
        return as_line(AgentMessage(ASSISTANT, (Text(message),), {"is_error": True}))
