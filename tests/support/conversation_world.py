"""A model that follows a script, and everything around a conversation with it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from kernel.conversation.conversations import Conversations
from kernel.conversation.place import Place
from kernel.domain.cancel import CancelToken
from kernel.domain.chat import ChatEvent, ChatRequest, Finished, TextDelta, TokensUsed
from kernel.domain.settings import Settings
from kernel.domain.turn_events import Shown
from kernel.errors import Cancelled
from kernel.storage.conversations import ConversationFiles
from kernel.storage.usage import UsageLedger

Script = Sequence[ChatEvent | BaseException | Callable[[], object]]


def said(*pieces: str, used: tuple[int, int] = (10, 5)) -> Script:
    return [*map(TextDelta, pieces), Finished("stop"), TokensUsed(*used, exact=True)]


@dataclass
class ScriptedModel:
    """A backend whose answers are events, errors to raise, and functions to call in between."""

    script: list[Script]
    calls_tools: bool = True
    context_tokens: int | None = None
    model_name: str = "scripted-1"
    requests: list[ChatRequest] = field(default_factory=list)
    closed: int = 0

    def stream(self, request: ChatRequest, cancel: CancelToken) -> Iterator[ChatEvent]:
        self.requests.append(request)
        for step in self.script.pop(0):
            if cancel.cancelled:
                yield TokensUsed(10, 1, exact=False)
                raise Cancelled("stopped")
            if isinstance(step, BaseException):
                raise step
            if callable(step):
                step()
            else:
                yield step

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def close(self) -> None:
        self.closed += 1


@dataclass
class World:
    conversations: Conversations
    model: ScriptedModel
    place: Place
    files: ConversationFiles
    ledger: UsageLedger
    settings: list[Settings]

    def ask(self, query: str, number: int = 1, cancel: CancelToken | None = None) -> list[Shown]:
        token = cancel or CancelToken()
        with self.conversations.begin(number, query, "model", self.place, token) as talk:
            return list(talk.events())
