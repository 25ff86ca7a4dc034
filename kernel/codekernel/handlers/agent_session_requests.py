"""What messages about agent sessions ask of the sync engine, in its values.

Imported late: these values take 10 ms, which the first message about agents can wait for.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from codekernel.domain.agent_sessions import (
    Actor,
    AgentSessionRecord,
    EventPosition,
    FolderAnswer,
    FolderQuestion,
    FolderQuestionKind,
    NewMessage,
    NewSession,
    PermissionAnswer,
    PermissionMode,
    SessionPermission,
)
from codekernel.domain.concurrency import CancelToken
from codekernel.errors import WrongParam
from codekernel.protocol.agent_session_entries import (
    build_event,
    build_page,
    build_session_message,
)
from codekernel.protocol.envelope import convert_values
from codekernel.protocol.messages import agent_sessions as messages
from codekernel.sync.engine import SyncEngine


@dataclass(frozen=True, slots=True)
class AgentSessionRequests:
    """The requests that need more than ids."""

    engine: SyncEngine

    def start(self, asked: messages.StartAgentSession) -> AgentSessionRecord:
        """Start an agent in a folder."""
        new = NewSession(
            folder=asked.folder,
            actor=_parse_actor(asked.actor),
            agent=asked.agent,
            model=asked.model,
            name=asked.name,
            permission_mode=_parse_mode(asked.permission_mode),
            tag=asked.tag,
        )
        return self.engine.start_session(new)

    def read_messages(self, asked: messages.ReadAgentMessages) -> messages.ReadAgentMessagesReply:
        """Read a page of messages."""
        page = self.engine.read_messages(
            asked.id,
            before_seq=asked.before_seq,
            after_seq=asked.after_seq,
            limit=asked.limit,
            epoch=asked.epoch,
        )
        return build_page(page)

    def send_message(self, asked: messages.SendAgentMessage) -> messages.SessionMessageEntry:
        """Queue a message."""
        new = NewMessage(asked.text, _parse_actor(asked.actor), asked.local_id)
        return build_session_message(self.engine.send_message(asked.id, new))

    def answer_permission(self, asked: messages.AnswerAgentPermission) -> SessionPermission:
        """Let a tool that waits go on, or not."""
        actor = _parse_actor(asked.actor)
        answer = PermissionAnswer(
            asked.allowed, actor, asked.for_turn, asked.option_id, asked.answer_key
        )
        return self.engine.answer_permission(asked.id, asked.permission_id, answer)

    def stop_turn(self, asked: messages.StopAgentTurn) -> None:
        """Stop what an agent does."""
        self.engine.stop_turn(asked.id, _parse_actor(asked.actor))

    def update(self, asked: messages.UpdateAgentSession) -> AgentSessionRecord:
        """Change a session."""
        mode = asked.permission_mode
        return self.engine.update_session(
            asked.id,
            name=asked.name,
            model=asked.model,
            permission_mode=None if mode is None else _parse_mode(mode),
            is_archived=asked.is_archived,
        )

    def ask_folder(self, asked: messages.AskAgentFolder) -> FolderAnswer:
        """Answer a question about the folder of a session."""
        if asked.kind not in list(FolderQuestionKind):
            kinds = ", ".join(FolderQuestionKind)
            raise WrongParam(f"`message.kind` must be one of {kinds}.")
        kind = FolderQuestionKind(asked.kind)
        question = FolderQuestion(kind, asked.path, asked.is_staged, asked.query, asked.limit)
        return self.engine.ask_folder(asked.id, question)

    def follow(
        self, asked: messages.FollowAgentSessions, stopping: CancelToken
    ) -> Iterator[messages.SyncPart]:
        """Yield the events until the kernel stops."""
        after = convert_values(asked.after, EventPosition) if asked.after else None
        reader, position, is_resumed = self.engine.open_reader(after)
        with stopping.on_cancel(reader.close):
            start = convert_values(position, messages.PositionEntry)
            yield messages.FollowingPart(position=start, is_resumed=is_resumed)
            for event in reader:
                yield build_event(event)
        if not stopping.is_cancelled:
            yield messages.FollowingEnded()


def _parse_actor(entry: messages.ActorEntry) -> Actor:
    return Actor(entry.device, entry.name)


def _parse_mode(name: str) -> PermissionMode:
    try:
        return PermissionMode(name)
    except ValueError:
        modes = ", ".join(PermissionMode)
        raise WrongParam(f"`message.permissionMode` must be one of {modes}.") from None
