"""The permission desk: a permission waits for any device, the first answer wins, all are told."""

import logging
from collections.abc import Callable
from dataclasses import replace

from codekernel.domain.agent_sessions import (
    Actor,
    AgentSessionRecord,
    PermissionAnswer,
    PermissionMode,
    PermissionOption,
    PermissionStatus,
    SessionPermission,
)
from codekernel.domain.settings import ALLOW_TURN_OPTION
from codekernel.errors import PermissionAnswered, WrongParam
from codekernel.sync.agents import BackendPermission
from codekernel.sync.state import ENGINE_DEVICE, SyncState
from codekernel.sync.store import get_time_ms

logger = logging.getLogger(__name__)

# Tells the agent of a session the answer: session, permission, answer.
Respond = Callable[[str, str, PermissionAnswer], None]

# Called under the lock of the state when a permission waits, and when it waits no longer.
OnPermissionChanged = Callable[[AgentSessionRecord, SessionPermission], None]

# Kinds of options of ACP, the one to be chosen first.
_ALLOW_KINDS = ("allow_once", "allow_always")
_ALLOW_TURN_KINDS = ("allow_always", "allow_once")
_REJECT_KINDS = ("reject_once", "reject_always")


class PermissionDesk:
    """Decides every permission, under the lock of the state."""

    def __init__(self, state: SyncState, respond: Respond, on_changed: OnPermissionChanged) -> None:
        self._state = state
        self._respond = respond
        self._on_changed = on_changed

    def open(self, session_id: str, asked: BackendPermission) -> None:
        """Record a permission and tell it; a session that allows everything answers itself."""
        permission = SessionPermission(
            asked.id,
            asked.tool,
            asked.arguments,
            get_time_ms(),
            asked.danger,
            asked.options,
            tool_use_id=asked.tool_use_id,
        )
        with self._state.lock:
            record = self._state.store.put_permission(session_id, permission)
            self._state.tell_session(record)
            self._on_changed(record, permission)
        if record.permission_mode is PermissionMode.ALLOW_ALL:
            actor = Actor(ENGINE_DEVICE, PermissionMode.ALLOW_ALL)
            self.answer(session_id, asked.id, PermissionAnswer(allowed=True, actor=actor))

    def answer(
        self, session_id: str, permission_id: str, answer: PermissionAnswer
    ) -> SessionPermission:
        """Answer a permission and let the agent go on; an answer that came before is repeated.

        Raises PermissionAnswered if it no longer waits, WrongParam if there is none.
        """
        with self._state.lock:
            found = self._find(session_id, permission_id)
            if answer.answer_key and found.answer_key == answer.answer_key:
                return found
            if found.status is not PermissionStatus.PENDING:
                raise PermissionAnswered(_explain_answered(found))
            status = PermissionStatus.APPROVED if answer.allowed else PermissionStatus.DENIED
            option_id = _choose_option(found.options, answer)
            settled = self._settle(session_id, found, status, answer, option_id)
        self._respond(session_id, permission_id, replace(answer, option_id=option_id))
        return settled

    def cancel_open(self, session_id: str) -> None:
        """Cancel what still waits: the turn has ended."""
        with self._state.lock:
            for waiting in self._state.store.get_session(session_id).pending_permissions:
                self._settle(session_id, waiting, PermissionStatus.CANCELED, None, "")

    def _find(self, session_id: str, permission_id: str) -> SessionPermission:
        permissions = self._state.store.get_session(session_id).permissions
        found = next((each for each in permissions if each.id == permission_id), None)
        if found is None:
            log = self._state.store.list_permissions(session_id)
            found = next((each for each in log if each.id == permission_id), None)
        if found is None:
            raise WrongParam(f"The session has no permission {permission_id[:80]!r}.")
        return found

    def _settle(
        self,
        session_id: str,
        waiting: SessionPermission,
        status: PermissionStatus,
        answer: PermissionAnswer | None,
        option_id: str,
    ) -> SessionPermission:
        settled = replace(
            waiting,
            status=status,
            option_id=option_id,
            for_turn=bool(answer and answer.for_turn),
            answered_at=get_time_ms(),
            answered_by=answer.actor if answer else None,
            answer_key=answer.answer_key if answer else "",
        )
        record = self._state.store.put_permission(session_id, settled)
        self._state.tell_session(record)
        self._on_changed(record, settled)
        by = settled.answered_by or Actor(ENGINE_DEVICE)
        logger.info("permission of %s in %s: %s by %s", waiting.tool, session_id, status, by.device)
        return settled


def _choose_option(options: tuple[PermissionOption, ...], answer: PermissionAnswer) -> str:
    """Return the agent's option that says what the answer says."""
    if not options:
        chosen = ALLOW_TURN_OPTION if answer.for_turn else answer.option_id
        return chosen if answer.allowed else ""
    if answer.option_id:
        if answer.option_id not in {each.id for each in options}:
            raise WrongParam(f"The agent offers no option {answer.option_id[:80]!r}.")
        return answer.option_id
    allow_kinds = _ALLOW_TURN_KINDS if answer.for_turn else _ALLOW_KINDS
    kinds = allow_kinds if answer.allowed else _REJECT_KINDS
    return next((each.id for kind in kinds for each in options if each.kind == kind), "")


def _explain_answered(permission: SessionPermission) -> str:
    by = permission.answered_by
    if by is None:
        return f"{permission.tool} waits no longer: the turn has ended."
    name = f"{by.name} ({by.device})" if by.name else by.device
    return f"{permission.tool} was {permission.status} by {name} already."
