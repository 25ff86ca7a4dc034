"""One kernel for many clients: attaching, its status, opening a folder by its path, its end."""

from typing import Annotated

import msgspec
from msgspec import Meta

from codekernel.protocol import MAIN_SESSION_ID
from codekernel.protocol.envelope import Message, ReplyData


class Attach(Message, frozen=True, tag="attach"):
    """The first line of a client at the local endpoint.

    ``mode`` is what follows: "lines" of this protocol, "mcp" about the repository in ``folder``, or
    "control" for getKernelStatus and stopKernel alone, which stay the same in every version.
    ``clientVersion``: of codekernel; an older kernel retires. ``reattaches``: whether the client
    goes on with another kernel by itself.
    ``followRoots``: with "mcp", the roots of the client come before ``folder``, which may be empty.
    ``mirror``: copy the histories of what this client asks, or has open, into their repositories.
    """

    protocol_version: str
    client: str
    pid: int | None = None
    mode: str = "lines"
    folder: str = ""
    mirror: bool = False
    client_version: str = ""
    reattaches: bool = False
    follow_roots: bool = False


class KernelInfo(ReplyData, frozen=True):
    """The kernel a client is attached to."""

    kernel_version: str
    protocol_version: str
    pid: int


class OpenFolder(Message, frozen=True, tag="openFolder"):
    """Open the repository of a folder for a session; an unknown folder is registered first.

    Without ``keep`` cleaning unregisters it again when it has been unused for long.
    """

    path: str
    session_id: int
    keep: bool = True

    def __post_init__(self) -> None:
        if self.session_id == MAIN_SESSION_ID:
            raise ValueError("sessionId -1 means the main process; a window needs another id")


class GetKernelStatus(Message, frozen=True, tag="getKernelStatus"):
    """Ask who is attached and what is open."""


class ClientEntry(ReplyData, frozen=True):
    """An attached client; ``attachedAt`` in ms."""

    name: str
    pid: int | None
    attached_at: int
    repos: list[str]


class OpenIndexEntry(ReplyData, frozen=True):
    """An open index; unless it is ``inUse``, it stays open for a while for the next search."""

    repo_name: str
    path: str
    files: int
    chunks: int
    state: str
    in_use: bool


class KernelStatus(ReplyData, frozen=True):
    """The kernel, its clients and its open indexes; times in ms."""

    kernel_version: str
    protocol_version: str
    pid: int
    user_data: str
    started_at: int
    memory_bytes: int
    clients: list[ClientEntry]
    indexes: list[OpenIndexEntry]


class GetIndexes(Message, frozen=True, tag="getIndexes"):
    """List the indexes of the userData folder."""


class IndexEntry(ReplyData, frozen=True):
    """An index on disk; ``repoName`` is empty if no repository is registered for it.

    ``path`` is empty if it is unknown what the index is about, ``gone`` if that folder is gone;
    ``usedAt`` in ms; ``openIn`` names clients.
    """

    repo_name: str
    path: str
    folder: str
    files: int
    chunks: int
    size_bytes: int
    used_at: int
    is_gone: bool = msgspec.field(name="gone")
    open_in: list[str]


class GetIndexesReply(ReplyData, frozen=True):
    """First those of repositories, in order of registration.

    ``sharedVectorsBytes`` is what the vectors take that all indexes share.
    """

    indexes: list[IndexEntry]
    shared_vectors_bytes: int


class CleanIndexes(Message, frozen=True, tag="cleanIndexes"):
    """Delete the indexes that nobody uses: of folders that are gone, or unused for ``days``."""

    days: Annotated[float, Meta(ge=0)]
    dry_run: bool = False


class CleanedIndex(ReplyData, frozen=True):
    """An index that was deleted, or would be, and why."""

    repo_name: str
    path: str
    folder: str
    size_bytes: int
    reason: str


class CleanIndexesReply(ReplyData, frozen=True):
    """What was deleted; ``sharedVectorsBytes`` of vectors that no other index has."""

    cleaned: list[CleanedIndex]
    shared_vectors_bytes: int


class StopKernel(Message, frozen=True, tag="stopKernel"):
    """End the kernel for every client."""


class KernelStopping(Message, frozen=True, tag="kernelStopping"):
    """Kernel -> client: the kernel ends on purpose; no reply is expected.

    ``retired``: a newer one takes over, and nothing that has no reply was begun.
    """

    reason: str
    retired: bool = False
