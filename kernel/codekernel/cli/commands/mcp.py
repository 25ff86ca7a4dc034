"""``codekernel mcp``: one repository over the Model Context Protocol, in the shared kernel.

This process only carries lines between stdin and stdout and the kernel. Over HTTP, and without a
shared kernel, it serves the repository itself.
"""

import argparse
import os

from codekernel.cli.main import STANDALONE_ENV_VARIABLE
from codekernel.cli.output.terminal import print_notice
from codekernel.cli.process import handle_stop_signals
from codekernel.cli.project_folder import find_project_root
from codekernel.client.launcher import wants_standalone
from codekernel.client.mcp_relay_state import McpRelayState
from codekernel.client.relay import KernelLink, make_attach_line, relay_stdio
from codekernel.errors import KernelError
from codekernel.storage.user_data import open_user_data
from codekernel.transport.descriptors import claim_stdio


def run_mcp(args: argparse.Namespace) -> int:
    """Serve until stdin ends or a signal comes; end the process. Raises KernelError."""
    wire = claim_stdio() if args.http is None else None
    root = find_project_root(args.repo)
    user_data = open_user_data(args.user_data, os.environ)
    is_standalone = args.standalone or bool(os.environ.get(STANDALONE_ENV_VARIABLE))
    if wire and not is_standalone and not wants_standalone(user_data.root):
        attach_line = make_attach_line("mcp", mode="mcp", folder=str(root))
        try:
            link = KernelLink(user_data.root, McpRelayState(), attach_line)
        except KernelError as error:
            print_notice(f"{error}; this server has an index of its own")
        else:
            handle_stop_signals(lambda: os._exit(0))
            os._exit(relay_stdio(wire, link))
    from codekernel.cli.standalone_mcp import serve_in_process  # noqa: PLC0415 - heavy

    return serve_in_process(wire, root, user_data, args.http or 0)
