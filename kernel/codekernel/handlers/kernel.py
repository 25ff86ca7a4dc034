"""The kernel that several clients share: attaching, status, opening a folder, its end."""

from collections.abc import Iterator
from pathlib import Path

from codekernel.dispatch.routing import Lane
from codekernel.handlers.context import Services, main_router
from codekernel.protocol.messages.kernel import (
    Attach,
    GetKernelStatus,
    KernelInfo,
    KernelStatus,
    OpenFolder,
    StopKernel,
)
from codekernel.protocol.messages.repos import OpenRepoReply
from codekernel.runtime.repo_folders import register_folder, require_repo_folder
from codekernel.runtime.retirement import check_protocol


@main_router.handles(Attach, lane=Lane.URGENT)
def attach(message: Attach, services: Services) -> KernelInfo:
    """Tell a client which kernel it talks to."""
    check_protocol(services.control.info, message)
    return services.control.info


@main_router.handles(OpenFolder, lane=Lane.MAIN)
def open_folder(message: OpenFolder, services: Services) -> Iterator[OpenRepoReply]:
    """Open a session on a folder, which is registered if it is new."""
    folder = Path(message.path)
    repo = register_folder(folder, services.repos, services.workspaces, keep=message.keep)
    require_repo_folder(repo)
    session = services.supervisor.open(message.session_id, repo)
    yield OpenRepoReply(repo_name=repo.name, path=str(repo.path))
    session.start()


@main_router.handles(GetKernelStatus, lane=Lane.OWN_THREAD)
def get_kernel_status(message: GetKernelStatus, services: Services) -> KernelStatus:
    """Say who is attached and what is open."""
    return services.control.get_status()


@main_router.handles(StopKernel, lane=Lane.URGENT)
def stop_kernel(message: StopKernel, services: Services) -> Iterator[None]:
    """Confirm, then end the kernel for everybody."""
    yield None
    services.control.stop("codekernel stop was called")
