"""What handlers share: the services, the two routers, the end of conversation streams."""

from collections.abc import Callable
from dataclasses import dataclass

from codekernel.dispatch.routing import Router, StreamTerminator
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.settings import Hardware
from codekernel.domain.turn import TurnOutcome
from codekernel.domain.turn_events import TurnDone
from codekernel.protocol.messages.conversation import ConversationPart, build_conversation_part
from codekernel.runtime.sessions import Session, SessionSupervisor
from codekernel.runtime.workspaces import Workspaces
from codekernel.settings.live import LiveSettings
from codekernel.storage.vault.tables import ApiKeys, RepoRegistry


@dataclass(frozen=True, slots=True)
class Services:
    """The services of the kernel, built by app.py."""

    repos: RepoRegistry
    keys: ApiKeys
    settings: LiveSettings
    supervisor: SessionSupervisor
    workspaces: Workspaces
    hardware: Callable[[], Hardware]
    stop: Callable[[], None]
    stopping: CancelToken


main_router: Router[Services] = Router()

session_router: Router[Session] = Router()

_REFUSED_PART = build_conversation_part(TurnDone(TurnOutcome.FAILED))


def _is_done_part(part: object) -> bool:
    return isinstance(part, ConversationPart) and part.type == _REFUSED_PART.type


CONVERSATION_END = StreamTerminator(refusal_part=_REFUSED_PART, is_end=_is_done_part)
