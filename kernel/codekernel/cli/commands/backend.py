"""``codekernel backend --stdio``.

The agent's tools for another program, as JSON lines (document 000).
"""

import argparse
import os
import secrets
from pathlib import Path

from codekernel.adapters.kode.event_messages import encode_line, make_error_message
from codekernel.adapters.kode.stdio_server import ReadBeforeWrite, answer_lines
from codekernel.agent.registry import ToolRegistry
from codekernel.agent.tool import ToolContext
from codekernel.agent.tool_policy import AllowListPolicy, PermissionPolicy, ToolPermission
from codekernel.agent.tools.toolsets import build_kode_tools
from codekernel.agent.workspace.journal import ChangeJournal
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.agent.workspace.text_file import FileStates
from codekernel.errors import KernelError
from codekernel.runtime import logging_setup
from codekernel.storage.user_data import open_user_data
from codekernel.transport.channels import StdioChannel
from codekernel.transport.descriptors import StdioPipe, claim_stdio

EXIT_FAILED = 1

# Whoever starts a back end wants files edited; all that goes beyond is asked for by name.
DEFAULT_ALLOWED = (ToolPermission.READS, ToolPermission.WRITES)


def run_backend(args: argparse.Namespace) -> int:
    """Answer every call until stdin ends; nothing but messages is written to stdout."""
    wire = claim_stdio()
    logging_setup.log_to_stderr()
    try:
        return _serve_calls(wire, args)
    except KernelError as broken:
        wire.write(encode_line(make_error_message(str(broken))))
    except OSError:  # whoever started us is gone
        pass
    return EXIT_FAILED


def _serve_calls(wire: StdioPipe, args: argparse.Namespace) -> int:
    registry = build_kode_tools()
    context = _make_tool_context(args, registry)
    try:
        for message in answer_lines(StdioChannel(wire).iter_lines(), registry, context):
            wire.write(encode_line(message))
    finally:
        context.close()
    return 0


def _make_tool_context(args: argparse.Namespace, registry: ToolRegistry) -> ToolContext:
    if not Path(args.root).is_dir():
        raise KernelError(f"{args.root} is no folder: --root must be the folder to work in.")
    root, seen = WorkspaceRoot.from_path(Path(args.root)), FileStates()
    permissions: PermissionPolicy = AllowListPolicy(
        (*DEFAULT_ALLOWED, *map(ToolPermission, args.allow))
    )
    if args.read_first:
        permissions = ReadBeforeWrite(permissions, registry, root, seen)
    session = f"backend-{secrets.token_hex(4)}"
    journal = ChangeJournal.from_user_data(
        open_user_data(args.user_data, os.environ).root, session, root
    )
    return ToolContext(root, journal, permissions=permissions, file_states=seen)
