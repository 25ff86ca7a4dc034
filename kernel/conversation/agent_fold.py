"""The steps of an agent's turn folded into its messages, its answer, and what it changed."""

from dataclasses import dataclass, field

from kernel.domain.agent_message import ASSISTANT, AgentMessage
from kernel.domain.agent_story import AgentStory
from kernel.domain.content_blocks import Text
from kernel.domain.turn import FileChange
from kernel.domain.turn_events import (
    Changed,
    Reminded,
    SaidPart,
    ThoughtPart,
    ToolDone,
    ToolUsed,
    TurnEvent,
)


@dataclass(slots=True)
class AgentFold:
    """Takes events one by one; those that are no steps change nothing."""

    changes: list[FileChange] = field(default_factory=list)
    _story: AgentStory = field(default_factory=AgentStory)
    _whole: list[AgentMessage] = field(default_factory=list)

    def add(self, event: TurnEvent) -> None:
        """Take the next event."""
        match event:
            case SaidPart() | ThoughtPart() | ToolUsed() | ToolDone() | Reminded():
                self._whole += self._story.add(event)
            case Changed(change):
                if change not in self.changes:
                    self.changes.append(change)
            case _:
                pass

    @property
    def messages(self) -> tuple[AgentMessage, ...]:
        """What was said so far, the last of it perhaps not whole."""
        growing = self._story.growing()
        return (*self._whole, growing) if growing else tuple(self._whole)

    @property
    def answer(self) -> str:
        """What the agent said last."""
        for message in reversed(self.messages):
            said = [block.text for block in message.content if isinstance(block, Text)]
            if said and message.role == ASSISTANT:
                return "\n\n".join(said)
        return ""
