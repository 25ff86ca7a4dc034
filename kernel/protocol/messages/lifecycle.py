"""Start and stop: the process, a session, and their deaths."""

from kernel.protocol.message import Message


class StopAll(Message, frozen=True, tag="stopAll"):
    """Front end -> kernel: end everything in order, then exit with 0."""


class Ready(Message, frozen=True, tag="ready"):
    """Kernel -> front end: listening."""


class SessionPrepared(Message, frozen=True, tag="sessionPrepared"):
    """Session -> window: requests to this session are answered from now on."""

    repo_name: str
    path: str


class SessionCrashed(Message, frozen=True, tag="sessionCrashed"):
    """Session -> window: this session is gone, its id is free, and no reply is expected."""

    error: str


class KernelServerCrashed(Message, frozen=True, tag="kernelServerCrashed"):
    """Kernel -> front end: the process ends now with a non-zero code; no reply is expected."""

    error: str
