"""What an editor is answered about a session: modes, models, its entry in a list.

And its prompt, as text.
"""

import os
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from acp import schema

from codekernel.domain.agent_sessions import AgentKind, AgentSessionRecord, PermissionMode

_MODES = {
    PermissionMode.ASK: ("Ask", "Asks before it deletes or runs something."),
    PermissionMode.READ_ONLY: ("Read only", "Changes nothing: it asks before it writes, too."),
    PermissionMode.ALLOW_ALL: ("Allow all", "Asks for nothing."),
}

MODEL_OPTION = "model"


def make_modes(record: AgentSessionRecord) -> schema.SessionModeState:
    """Return the permission modes, and which one is set."""
    return schema.SessionModeState(
        current_mode_id=record.permission_mode,
        available_modes=[
            schema.SessionMode(id=mode, name=name, description=text)
            for mode, (name, text) in _MODES.items()
        ],
    )


def make_model_option(kind: AgentKind, model: str) -> list[Any]:
    """Return the choice of a model."""
    choices = [schema.SessionConfigSelectOption(value=name, name=name) for name in kind.models]
    return [
        schema.SessionConfigOptionSelect(
            id=MODEL_OPTION,
            name="Model",
            category="model",
            type="select",
            current_value=model or kind.models[0],
            options=choices,
        )
    ]


def make_info(record: AgentSessionRecord) -> schema.SessionInfo:
    """Return the entry of a session in a list."""
    updated = datetime.fromtimestamp(record.updated_at / 1000, UTC)
    return schema.SessionInfo(
        session_id=record.id,
        cwd=record.folder,
        title=record.name or None,
        updated_at=updated.isoformat(timespec="seconds"),
    )


def is_same_folder(one: str, other: str) -> bool:
    """Return whether two paths lead to one folder."""
    return os.path.realpath(one) == os.path.realpath(other)


def read_prompt(blocks: Sequence[Any]) -> Iterator[str]:
    """Yield the texts of a prompt; files that the editor hands over are part of it."""
    for block in blocks:
        match block:
            case schema.TextContentBlock(text=text):
                yield text
            case schema.ResourceContentBlock(uri=uri):
                yield uri
            case schema.EmbeddedResourceContentBlock(resource=resource):
                content = getattr(resource, "text", "")
                yield f"{resource.uri}\n```\n{content}\n```" if content else resource.uri
