"""Sessions as lines and choices of a chat."""

from pathlib import PurePath, PureWindowsPath

from codekernel.domain.agent_sessions import AgentSessionRecord

# Eight are unique among thousands of sessions; if not, more have to be typed.
_SHORT_ID_CHARS = 8


def get_folder_name(folder: str) -> str:
    """Return the last part of a path of any system."""
    path = PureWindowsPath(folder) if "\\" in folder else PurePath(folder)
    return path.name or folder


def describe_session(session: AgentSessionRecord) -> str:
    """Return the name of a session and the beginning of its id."""
    name = session.name or get_folder_name(session.folder)
    return f"**{name}** (`{session.id[:_SHORT_ID_CHARS]}`)"


def format_session(session: AgentSessionRecord, *, is_followed: bool) -> str:
    """Return a line of the list of sessions."""
    state = "works" if session.is_thinking else "waits for you"
    if session.pending_permissions:
        state = "asks for a permission"
    if not session.is_active:
        state = "is away"
    marker = "→" if is_followed else "-"
    folder = get_folder_name(session.folder)
    return f"{marker} {describe_session(session)} in {folder}, {session.agent}: {state}"


def label_session(session: AgentSessionRecord) -> str:
    """Return the label of a choice."""
    name = session.name or get_folder_name(session.folder)
    return f"{name} · {session.id[:_SHORT_ID_CHARS]}"
