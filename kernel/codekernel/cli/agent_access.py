"""The agent sessions of the kernel, for a command that shows them to some device."""

import argparse
from collections.abc import Iterator
from contextlib import closing, contextmanager

from codekernel.cli.kernel_finder import KernelFinder
from codekernel.client.agent_sessions import RemoteAgentSessions
from codekernel.client.kernel_requests import KernelRequests
from codekernel.storage.user_data import UserData


@contextmanager
def open_agent_sessions(
    args: argparse.Namespace, user_data: UserData, client: str
) -> Iterator[RemoteAgentSessions]:
    """Attach a command to the kernel, which is started if need be. Raises KernelError.

    ``args`` has ``standalone``; ``client`` is the name that ``codekernel status`` shows.
    """
    with (
        closing(KernelFinder(user_data.root, standalone=args.standalone)) as finder,
        closing(
            RemoteAgentSessions(KernelRequests(user_data.root, client, finder.connect))
        ) as sessions,
    ):
        yield sessions
