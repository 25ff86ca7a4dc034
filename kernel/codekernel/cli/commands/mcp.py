"""``codekernel mcp``: one repository over the Model Context Protocol, served by the kernel.

This process carries lines between stdin and stdout and the kernel, or answers any number of agents
over HTTP with what the kernel answers.
"""

from __future__ import annotations

import os

from codekernel.cli.kernel_finder import KernelFinder
from codekernel.cli.process import ExitCode, exit_now, handle_stop_signals, run_and_exit
from codekernel.cli.project_folder import find_project_folder
from codekernel.client.mcp_relay_state import McpRelayState
from codekernel.client.relay import KernelLink, make_attach_line, relay_stdio
from codekernel.errors import InvalidPath
from codekernel.storage.user_data_folder import open_folder
from codekernel.transport.descriptors import claim_stdio

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import NoReturn


def run_mcp(args: argparse.Namespace) -> int:
    """Serve until stdin ends or a signal comes; end the process. Raises KernelError."""
    if args.http is None:
        return relay_mcp(args.repo, args.user_data, standalone=args.standalone)
    from codekernel.cli.commands.mcp_http import serve_mcp_http

    root = find_project_folder(args.repo)
    user_data = open_folder(args.user_data, os.environ)
    finder = KernelFinder(user_data, standalone=args.standalone)
    handle_stop_signals(lambda: exit_now(ExitCode.OK, finder.close))
    return serve_mcp_http(args.http, root, user_data, finder)


def _find_folder(repo: str | None) -> str:
    """Return the project of this process; empty if it is none, and the client must name one."""
    try:
        return find_project_folder(repo)
    except InvalidPath:
        if repo is not None:
            raise
        return ""


def run_relay(repo: str | None, user_data_folder: str | None) -> NoReturn:
    """Relay as agents are configured to; print the error that ends it."""
    run_and_exit(lambda: relay_mcp(repo, user_data_folder))


def relay_mcp(repo: str | None, user_data_folder: str | None, *, standalone: bool = False) -> int:
    """Carry lines until stdin ends or a signal comes; end the process. Raises KernelError."""
    wire = claim_stdio()
    root = _find_folder(repo)
    user_data = open_folder(user_data_folder, os.environ)
    finder = KernelFinder(user_data, standalone=standalone)
    handle_stop_signals(lambda: exit_now(ExitCode.OK, finder.close))
    attach_line = make_attach_line("mcp", mode="mcp", folder=root, followRoots=repo is None)
    link = KernelLink(user_data, McpRelayState(), attach_line, finder.connect)
    return exit_now(relay_stdio(wire, link), finder.close)
