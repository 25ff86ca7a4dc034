"""``codekernel acp``: our agent for editors that speak the Agent Client Protocol."""

import argparse
import os
from collections.abc import Iterator
from contextlib import closing, contextmanager

from codekernel.adapters.acp.stdio_server import serve_editor
from codekernel.cli.kernel_finder import KernelFinder
from codekernel.cli.process import ExitCode, exit_now, handle_stop_signals
from codekernel.client.agent_sessions import RemoteAgentSessions
from codekernel.client.kernel_requests import KernelRequests
from codekernel.domain.settings import OWN_AGENT
from codekernel.runtime import logging_setup
from codekernel.storage.user_data import UserData, open_user_data
from codekernel.transport.descriptors import claim_stdio


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


def run_acp(args: argparse.Namespace) -> int:
    """Serve an editor until it closes stdin. Raises KernelError."""
    wire = claim_stdio()
    logging_setup.log_to_stderr()
    user_data = open_user_data(args.user_data, os.environ)
    with open_agent_sessions(args, user_data, "acp") as sessions:
        handle_stop_signals(lambda: exit_now(ExitCode.OK, sessions.close))
        serve_editor(wire, sessions, args.agent or OWN_AGENT)
    return ExitCode.OK
