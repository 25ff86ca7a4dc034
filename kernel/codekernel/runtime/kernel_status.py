"""What ``codekernel status`` shows of a kernel."""

from collections.abc import Sequence
from pathlib import Path

from codekernel.protocol.messages.kernel import (
    ClientEntry,
    KernelInfo,
    KernelStatus,
    OpenIndexEntry,
)
from codekernel.runtime.clients import AnyClient
from codekernel.runtime.sessions import Session


def describe_status(
    info: KernelInfo,
    user_data: Path,
    started_at: float,
    clients: Sequence[AnyClient],
    sessions: Sequence[Session],
) -> KernelStatus:
    """Return what ``codekernel status`` shows."""
    import psutil  # noqa: PLC0415 - seldom needed

    by_repo = {session.repo.id: session for session in sessions}
    return KernelStatus(
        kernel_version=info.kernel_version,
        protocol_version=info.protocol_version,
        pid=info.pid,
        user_data=str(user_data),
        started_at=int(started_at * 1000),
        memory_bytes=psutil.Process().memory_info().rss,
        clients=[
            ClientEntry(
                name=client.info.name,
                pid=client.info.pid,
                attached_at=int(client.info.attached_at * 1000),
                repos=client.list_repo_names(),
            )
            for client in clients
        ],
        indexes=[_describe_index(session) for session in by_repo.values()],
    )


def _describe_index(session: Session) -> OpenIndexEntry:
    status = session.workspace.index.get_status() if session.is_prepared else None
    return OpenIndexEntry(
        repo_name=session.repo.name,
        path=str(session.repo.path),
        files=status.files if status else 0,
        chunks=status.chunks if status else 0,
        state=status.state if status else "opening",
    )
