"""``codekernel ide-tools``: the tools of an IDE plugin for its backend, without the IDE."""

import argparse
import os
import secrets
from dataclasses import asdict, replace
from pathlib import Path
from typing import NoReturn

from codekernel.adapters.ide import plugin
from codekernel.adapters.ide.tool_calls import IdeToolExecutor
from codekernel.adapters.mcp.kernel_client import KernelMcpClient
from codekernel.agent.registry import ToolRegistry
from codekernel.agent.tool import ToolContext, ToolOutcome, make_failure, make_success
from codekernel.agent.tool_policy import (
    DEFAULT_ALLOWED_PERMISSIONS,
    READ_ONLY_POLICY,
    AllowListPolicy,
)
from codekernel.agent.tools.index_search import CallChainArguments, call_chain
from codekernel.agent.tools.toolsets import build_ide_tools
from codekernel.agent.workspace.journal import ChangeJournal
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.cli.kernel_finder import KernelFinder
from codekernel.cli.output.terminal import print_bearer_address, print_notice
from codekernel.cli.process import ExitCode, exit_now, handle_stop_signals
from codekernel.cli.project_folder import find_project_root
from codekernel.domain.concurrency import CancelToken
from codekernel.runtime import logging_setup
from codekernel.storage.user_data import UserData, open_user_data

BEARER_ENV_VARIABLE = "CODEKERNEL_IDE_TOKEN"


def run_ide_tools(args: argparse.Namespace) -> int:
    """Answer calls until a signal comes; end the process. Raises KernelError."""
    logging_setup.log_to_stderr()
    try:
        root = find_project_root(args.root)
        _serve_ide(args, root, open_user_data(args.user_data, os.environ))
    except OSError as error:
        print_notice(
            f"port {args.listen} cannot be used: {error.strerror}. Choose another one, or 0."
        )
    return ExitCode.ERROR


def _serve_ide(args: argparse.Namespace, root: Path, user_data: UserData) -> NoReturn:
    token = os.environ.get(BEARER_ENV_VARIABLE, "")
    address: plugin.BackendAddress | None = None
    port: plugin.WebSocketPort | None = None
    executor: IdeToolExecutor  # made below, once the port is bound
    if args.connect is not None:
        address = plugin.BackendAddress.from_url(
            args.connect, root.name, str(root), allow_remote=args.anywhere
        )
    else:
        port = plugin.WebSocketPort(
            lambda connection: plugin.PluginSession(executor).serve(connection),
            args.listen,
            token,
            allow_remote=args.anywhere,
        )
    finder = KernelFinder(user_data.root, standalone=args.standalone)
    kernel = KernelMcpClient(user_data.root, "ide-tools", root, finder.connect)
    usual = AllowListPolicy(DEFAULT_ALLOWED_PERMISSIONS)
    workspace = WorkspaceRoot.from_path(root)
    context = ToolContext(
        workspace,
        ChangeJournal.from_user_data(user_data.root, f"ide-{secrets.token_hex(4)}", workspace),
        permissions=READ_ONLY_POLICY if args.read_only else usual,
    )
    executor = IdeToolExecutor(
        _build_tools(kernel), context, address.project_key if address else ""
    )
    handle_stop_signals(lambda: exit_now(ExitCode.OK, finder.close))
    if address:
        session = plugin.PluginSession(executor)
        plugin.BackendConnector(address, session, token, print_notice).run(CancelToken())
    elif port:
        print_bearer_address(port.url, port.token, BEARER_ENV_VARIABLE)
        port.serve()
    exit_now(ExitCode.OK, finder.close)


def _build_tools(kernel: KernelMcpClient) -> ToolRegistry:
    """Return the tools; call chains are followed in the kernel, which has the index."""

    def follow_calls(arguments: CallChainArguments, context: ToolContext) -> ToolOutcome:
        call = {"name": call_chain.name, "arguments": asdict(arguments)}
        result = kernel.request("tools/call", call, context.cancel)
        text = result["content"][0]["text"]
        return make_failure(text) if result.get("isError") else make_success(text)

    forwarded = replace(call_chain, run=follow_calls)
    return ToolRegistry(
        forwarded if each.name == call_chain.name else each for each in build_ide_tools()
    )
