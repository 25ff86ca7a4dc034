"""``codekernel backend --stdio``: the agent's tools as JSON lines (document 000)."""

import argparse
import os
import secrets
from contextlib import closing
from pathlib import Path

from codekernel.adapters import kode
from codekernel.agent import tool_policy
from codekernel.agent.registry import ToolRegistry
from codekernel.agent.tool import ToolContext
from codekernel.agent.tools.toolsets import build_kode_tools
from codekernel.agent.workspace.journal import ChangeJournal
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.agent.workspace.text_file import FileStates
from codekernel.cli.process import ExitCode
from codekernel.errors import KernelError
from codekernel.runtime import logging_setup
from codekernel.storage.user_data import open_user_data
from codekernel.transport.channels import StreamChannel
from codekernel.transport.descriptors import claim_stdio


def run_backend(args: argparse.Namespace) -> int:
    """Answer every call until stdin ends; stdout gets nothing but messages."""
    wire = claim_stdio()
    logging_setup.log_to_stderr()
    registry = build_kode_tools()
    try:
        with closing(_make_tool_context(args, registry)) as context:
            for message in kode.answer_lines(StreamChannel(wire).iter_lines(), registry, context):
                wire.write(kode.encode_line(message))
    except KernelError as error:
        wire.write(kode.encode_line(kode.make_error_message(str(error))))
    except OSError:  # the program that started us is gone
        pass
    else:
        return ExitCode.OK
    return ExitCode.FAILED


def _make_tool_context(args: argparse.Namespace, registry: ToolRegistry) -> ToolContext:
    if not Path(args.root).is_dir():
        raise KernelError(f"{args.root} is no folder: --root must be the folder to work in.")
    root, file_states = WorkspaceRoot.from_path(Path(args.root)), FileStates()
    more = map(tool_policy.ToolPermission, args.allow)
    allowed = (*tool_policy.DEFAULT_ALLOWED_PERMISSIONS, *more)
    permissions: tool_policy.PermissionPolicy = tool_policy.AllowListPolicy(allowed)
    if args.read_first:
        permissions = kode.ReadBeforeWrite(permissions, registry, root, file_states)
    user_data = open_user_data(args.user_data, os.environ)
    journal = ChangeJournal.from_user_data(user_data.root, f"backend-{secrets.token_hex(4)}", root)
    return ToolContext(root, journal, permissions=permissions, file_states=file_states)
