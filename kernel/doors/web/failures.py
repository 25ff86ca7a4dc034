"""Every way a page's call can fail, as it is told: the kernel's words and a few of our own."""

from typing import Any

from kernel.errors import KernelError

# As in electron-bridge/src/errors.js.
KERNEL_STOPPED = "KERNEL_STOPPED"
TOO_LARGE = "TOO_LARGE"
SESSION_CLOSED = "SESSION_CLOSED"
FORBIDDEN = "FORBIDDEN"

Plain = dict[str, Any]


class CallFailed(Exception):
    """A request that was refused: by the kernel, with its code, or by the door."""

    def __init__(self, code: str, message: str, done: object = None) -> None:
        """``done`` is how a conversation ended that failed on the way."""
        super().__init__(message)
        self.code = code
        self.done = done


def failure_in(status: object) -> CallFailed | None:
    """The failure in the status of a reply; None for a success."""
    code = status.get("code") if isinstance(status, dict) else None
    if code == "SUCCESS":
        return None
    if not isinstance(status, dict) or not isinstance(code, str):
        return CallFailed("UNKNOW_ERROR", "The kernel answered without a status.")
    return CallFailed(code, str(status.get("message", "")))


def plain(error: BaseException) -> Plain:
    """A failure as JSON has it."""
    if isinstance(error, CallFailed):
        told = {"name": "KernelError", "code": error.code, "message": str(error)}
        return told if error.done is None else {**told, "done": error.done}
    if isinstance(error, KernelError):
        return {"name": "KernelError", "code": error.code, "message": str(error)}
    return {
        "name": "KernelError",
        "code": KernelError.code,
        "message": "codekernel failed; its log says why.",
    }


def stopped() -> CallFailed:
    """What everybody who still waits is told at the end."""
    return CallFailed(
        KERNEL_STOPPED, "codekernel was stopped: start it again in a terminal (codekernel web)."
    )


def closed() -> CallFailed:
    """What a request to a closed session is told."""
    return CallFailed(SESSION_CLOSED, "The repository was closed in this window.")


def forbidden(message: str) -> CallFailed:
    """A window asked for something that it may not."""
    return CallFailed(FORBIDDEN, message)
