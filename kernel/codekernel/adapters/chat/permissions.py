"""A permission in a chat: the answers that it offers, and who has decided it."""

from dataclasses import dataclass
from typing import Final

from codekernel.adapters.chat.bindings import PermissionButton
from codekernel.domain.agent_sessions import (
    Actor,
    AgentSessions,
    Device,
    PermissionAnswer,
    PermissionStatus,
    SessionPermission,
)
from codekernel.errors import PermissionAnswered

DEVICE_NAMES: Final[dict[str, str]] = {
    Device.PAGE: "the web page",
    Device.TERMINAL: "a terminal",
    Device.LARK: "Lark",
    Device.TELEGRAM: "Telegram",
    Device.EDITOR: "an editor",
    Device.SERVICE: "the service",
}

# Kinds of ACP that allow something.
_ALLOWING_PREFIX = "allow"


@dataclass(frozen=True, slots=True)
class PermissionChoice:
    """One button of a permission."""

    label: str
    button: PermissionButton


def list_choices(session_id: str, permission: SessionPermission) -> tuple[PermissionChoice, ...]:
    """Return the answers that a permission offers; those of a foreign agent are its own."""
    if permission.options:
        return tuple(
            PermissionChoice(
                option.name,
                PermissionButton(
                    session_id,
                    permission.id,
                    option.kind.startswith(_ALLOWING_PREFIX),
                    option_id=option.id,
                ),
            )
            for option in permission.options
        )
    allow = PermissionButton(session_id, permission.id, is_allowed=True)
    allow_turn = PermissionButton(session_id, permission.id, is_allowed=True, for_turn=True)
    deny = PermissionButton(session_id, permission.id, is_allowed=False)
    return (
        PermissionChoice("Allow", allow),
        PermissionChoice("Allow for this turn", allow_turn),
        PermissionChoice("Deny", deny),
    )


@dataclass(frozen=True, slots=True)
class ButtonOutcome:
    """What pressing a button of a permission led to; ``is_late`` if it was decided before."""

    permission: SessionPermission
    is_late: bool


def press_button(sessions: AgentSessions, button: PermissionButton, actor: Actor) -> ButtonOutcome:
    """Answer a permission; the first answer of any device counts.

    Raises KernelError, among them PermissionAnswered for one that the session no longer knows.
    """
    answer = PermissionAnswer(
        button.is_allowed, actor, for_turn=button.for_turn, option_id=button.option_id
    )
    try:
        permission = sessions.answer_permission(button.session_id, button.permission_id, answer)
    except PermissionAnswered:
        session = sessions.get_session(button.session_id)
        for known in session.permissions:
            if known.id == button.permission_id:
                return ButtonOutcome(known, is_late=True)
        raise
    return ButtonOutcome(permission, is_late=False)


def describe_decision(permission: SessionPermission) -> str:
    """Say what was decided, by whom and where; empty while it waits."""
    if permission.status is PermissionStatus.PENDING:
        return ""
    if permission.status is PermissionStatus.CANCELED:
        return "Not needed any more: the turn has ended."
    word = "Allowed" if permission.status is PermissionStatus.APPROVED else "Denied"
    for option in permission.options:
        if option.id == permission.option_id:
            word = f"{word} ({option.name})"
    if permission.for_turn:
        word = f"{word} for this turn"
    return f"{word} by {describe_actor(permission.answered_by)}."


def describe_actor(actor: Actor | None) -> str:
    """Return who did something and where."""
    if actor is None:
        return "somebody"
    place = DEVICE_NAMES.get(actor.device, actor.device)
    return f"{actor.name} ({place})" if actor.name else place
