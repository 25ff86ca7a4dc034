"""A chat model that tells what it is asked, what it writes and what that costs; else itself."""

from collections.abc import Callable, Iterator

from kernel.domain.cancel import CancelToken
from kernel.domain.chat import (
    ChatBackend,
    ChatEvent,
    ChatMessage,
    ChatRequest,
    ReasoningDelta,
    Role,
    TextDelta,
    TokensUsed,
    ToolCalls,
)
from kernel.domain.turn import Spent
from kernel.domain.turn_events import Counted, Received, Sent

Tell = Callable[[Sent | Received | Counted], None]


class Metered:
    """For one conversation at a time: requests of an agent repeat what was sent before.

    ``tell`` is called on the thread that reads the stream; each Sent is followed by one Counted.
    """

    def __init__(self, backend: ChatBackend, tell: Tell) -> None:
        self._backend = backend
        self._tell = tell
        self._before: tuple[ChatMessage, ...] = ()
        self._known = 0

    @property
    def model_name(self) -> str:
        """The name that usage is recorded under."""
        return self._backend.model_name

    @property
    def calls_tools(self) -> bool:
        """Whether tools may be given."""
        return self._backend.calls_tools

    @property
    def context_tokens(self) -> int | None:
        """How much the model can read and write at once."""
        return self._backend.context_tokens

    def stream(self, request: ChatRequest, cancel: CancelToken) -> Iterator[ChatEvent]:
        """Answer piece by piece, and tell of it."""
        self._tell(self._sent(request))
        spent = Spent()
        try:
            for event in self._backend.stream(request, cancel):
                match event:
                    case TextDelta(text) | ReasoningDelta(text):
                        self._tell(Received(text))
                    case ToolCalls(calls):
                        written = " ".join(f"{call.name} {call.arguments}" for call in calls)
                        self._tell(Received(written))
                    case TokensUsed(read, wrote, exact):
                        spent = Spent(read, wrote, exact)
                yield event
        finally:
            if spent.input_tokens:
                self._before = request.messages
                self._known = spent.input_tokens + spent.output_tokens
            self._tell(Counted(spent))

    def count_tokens(self, text: str) -> int:
        """Tokens of a text."""
        return self._backend.count_tokens(text)

    def close(self) -> None:
        """Nothing: whoever lent the model closes it."""

    def _sent(self, request: ChatRequest) -> Sent:
        """All that is sent, or what was added to the last request, whose cost is known."""
        messages, length = request.messages, len(self._before)
        if not length or messages[:length] != self._before:
            return Sent("\n".join(message.content for message in messages))
        added = (each.content for each in messages[length:] if each.role is not Role.ASSISTANT)
        return Sent("\n".join(added), self._known)
