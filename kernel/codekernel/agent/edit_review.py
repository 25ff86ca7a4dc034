"""Hold an edit back as a diff until a person has accepted it, whole or by hunks."""

from collections.abc import Callable

from codekernel.agent.tool_policy import (
    PermissionReply,
    ToolError,
    ToolPermission,
    ToolPermissionRequest,
)
from codekernel.agent.workspace.text_edit import compute_diff
from codekernel.domain.diff import apply_hunks, compute_structured_patch

AskPerson = Callable[[ToolPermissionRequest], PermissionReply]


class EditRejected(ToolError):
    """The person rejected the whole edit; the file is as it was."""


class EditTrimmed(ToolError):
    """The person accepted a part of the edit, which is in the file now."""


def review_edit(ask: AskPerson, tool: str, path: str, before: str | None, after: str) -> str:
    """Return the text that a person accepts. Raises EditRejected if that is none of it."""
    old = before or ""
    hunks = compute_structured_patch(old, after)
    diff = compute_diff(path, old, after).text
    request = ToolPermissionRequest(tool, ToolPermission.WRITES, {"path": path}, diff)
    reply = ask(request)
    accepted = set(range(len(hunks)) if reply.hunks is None else reply.hunks)
    if not reply.allowed or (hunks and not accepted):
        raise EditRejected(
            f"The person rejected this edit; {path} is as it was. Do not try it again; ask what"
            " to do instead.",
            {"denied": True},
        )
    # A new file is made whole or not at all.
    return after if before is None else apply_hunks(old, hunks, accepted)


def explain_trimmed(path: str, before: str, wanted: str, written: str) -> EditTrimmed:
    """Return what the model is told of an edit that was accepted in parts."""
    diff = compute_diff(path, before, written)
    left_out = compute_diff(path, written, wanted)
    return EditTrimmed(
        f"The person accepted only a part of this edit. {path} was changed so:\n{diff.text}\n"
        f"This part was rejected; do not try it again:\n{left_out.text}",
        {"diff": diff.text},
    )
