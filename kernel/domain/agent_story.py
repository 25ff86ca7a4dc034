"""What an agent says and does, step by step, as messages of content blocks.

A message of the agent grows until it uses a tool, or has nothing more to say; results and reminders
are messages in the person's place.
"""

from collections.abc import Iterator
from dataclasses import replace

from kernel.domain.agent_message import ASSISTANT, USER, AgentMessage
from kernel.domain.content_blocks import ContentBlock, Text, Thinking, ToolResult, ToolUse
from kernel.domain.turn_events import (
    AgentStep,
    Reminded,
    SaidPart,
    ThoughtPart,
    ToolDone,
    ToolUsed,
)


class AgentStory:
    """Takes steps one by one; nothing of a message is read again when it grows."""

    def __init__(self) -> None:
        self._blocks: list[ContentBlock] = []
        self._words: list[str] = []  # of the last block, which may have many parts
        self.characters = 0  # of the message that grows

    @property
    def has_text(self) -> bool:
        """Whether the message that grows says something."""
        return any(isinstance(block, Text) for block in self._blocks)

    def add(self, step: AgentStep) -> Iterator[AgentMessage]:
        """Take the next step; the messages that are whole now."""
        match step:
            case SaidPart(text):
                self._grow(text, Text)
            case ThoughtPart(text):
                self._grow(text, Thinking)
            case ToolUsed(name, tool, given):
                self._close_block()
                self._blocks.append(ToolUse(name, tool, given))
                yield from self.end()
            case ToolDone(name, text, success, diff):
                yield from self.end()
                result = ToolResult(name, text, is_error=not success, diff=diff)
                yield AgentMessage(USER, (result,))
            case Reminded(text):
                yield from self.end()
                yield AgentMessage(USER, (Text(text),))

    def growing(self) -> AgentMessage | None:
        """The message that is not whole yet, if there is anything in it."""
        self._close_block()
        blocks = tuple(block for block in self._blocks if not _is_empty(block))
        return AgentMessage(ASSISTANT, blocks) if blocks else None

    def end(self) -> Iterator[AgentMessage]:
        """Nothing more is added to the message that grows."""
        message = self.growing()
        self._blocks.clear()
        self.characters = 0
        if message:
            yield message

    def _grow(self, text: str, kind: type[Text | Thinking]) -> None:
        if not self._blocks or type(self._blocks[-1]) is not kind:
            self._close_block()
            self._blocks.append(kind(""))
        self._words.append(text)
        self.characters += len(text)

    def _close_block(self) -> None:
        """Give the last block all its words."""
        if not self._words:
            return
        words, last = "".join(self._words), self._blocks[-1]
        if isinstance(last, Text):
            self._blocks[-1] = Text(last.text + words)
        elif isinstance(last, Thinking):
            self._blocks[-1] = replace(last, thinking=last.thinking + words)
        self._words.clear()


def _is_empty(block: ContentBlock) -> bool:
    return isinstance(block, Text) and not block.text.strip()
