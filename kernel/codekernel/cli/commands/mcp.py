"""``codekernel mcp``: one repository over the Model Context Protocol, served by the kernel.

This process carries lines between stdin and stdout and the kernel, or answers any number of agents
over HTTP with what the kernel answers.
"""

import argparse
import os

from codekernel.cli.kernel_access import KernelFinder
from codekernel.cli.process import ExitCode, exit_now, handle_stop_signals
from codekernel.cli.project_folder import find_project_root
from codekernel.client.mcp_relay_state import McpRelayState
from codekernel.client.relay import KernelLink, make_attach_line, relay_stdio
from codekernel.storage.user_data import open_user_data
from codekernel.transport.descriptors import claim_stdio


def run_mcp(args: argparse.Namespace) -> int:
    """Serve until stdin ends or a signal comes; end the process. Raises KernelError."""
    wire = claim_stdio() if args.http is None else None
    root = find_project_root(args.repo)
    user_data = open_user_data(args.user_data, os.environ)
    finder = KernelFinder(args, user_data)
    handle_stop_signals(lambda: exit_now(ExitCode.OK, finder.close))
    if wire is None:
        from codekernel.cli.commands.mcp_http import serve_mcp_http  # noqa: PLC0415 - seldom needed

        return serve_mcp_http(args.http, root, user_data.root, finder)
    attach_line = make_attach_line("mcp", mode="mcp", folder=str(root))
    link = KernelLink(user_data.root, McpRelayState(), attach_line, finder.connect)
    return exit_now(relay_stdio(wire, link), finder.close)
