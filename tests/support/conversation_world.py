"""A scripted model, and the services of a conversation with it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from codekernel.conversation.conversations import Conversations
from codekernel.conversation.repository_access import RepositoryAccess
from codekernel.conversation.turn import RunningQuestionTurn
from codekernel.domain.chat import ChatEvent, ChatFinished, ChatRequest, TextDelta, TokensUsed
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.settings import Settings
from codekernel.domain.turn_events import ShownEvent
from codekernel.errors import Cancelled
from codekernel.protocol.messages.conversation import BeginConversation
from codekernel.storage.conversation_files import ConversationFiles
from codekernel.storage.vault.vault import UsageLedger

Script = Sequence[ChatEvent | BaseException | Callable[[], object]]


def reply_text(*pieces: str, used: tuple[int, int] = (10, 5)) -> Script:
    return [*map(TextDelta, pieces), ChatFinished("stop"), TokensUsed(*used, exact=True)]


@dataclass
class ScriptedModel:
    """A backend whose answers are events, errors to raise, and functions to call in between."""

    script: list[Script]
    supports_tools: bool = True
    context_tokens: int | None = None
    model_name: str = "scripted-1"
    requests: list[ChatRequest] = field(default_factory=list)
    closed: int = 0
    on_count: Callable[[], object] = lambda: None

    def stream(self, request: ChatRequest, cancel: CancelToken) -> Iterator[ChatEvent]:
        self.requests.append(request)
        for step in self.script.pop(0):
            if cancel.is_cancelled:
                yield TokensUsed(10, 1, exact=False)
                raise Cancelled("stopped")
            if isinstance(step, BaseException):
                raise step
            if callable(step):
                step()
            else:
                yield step

    def count_tokens(self, text: str) -> int:
        self.on_count()
        return len(text.split())

    def close(self) -> None:
        self.closed += 1


@dataclass
class World:
    conversations: Conversations
    model: ScriptedModel
    place: RepositoryAccess
    files: ConversationFiles
    ledger: UsageLedger
    settings: list[Settings]

    def ask(
        self, query: str, number: int = 1, cancel: CancelToken | None = None
    ) -> list[ShownEvent]:
        with self.begin(query, number, cancel) as turn:
            return list(turn.stream_events())

    def begin(
        self, query: str, number: int = 1, cancel: CancelToken | None = None
    ) -> RunningQuestionTurn:
        """Accept a question for the model of the test."""
        asked = BeginConversation(model_name="model", conversation_id=number, query=query)
        return self.conversations.begin(asked, self.place, cancel or CancelToken())
