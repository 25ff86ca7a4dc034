"""``codekernel backend --stdio``: the tools of document 000 for a program, in lines of JSON."""

import argparse
import os
import secrets
from pathlib import Path

from kernel import logs
from kernel.agent.context import ToolContext
from kernel.agent.danger import Allowed, Danger, Permissions
from kernel.agent.journal import Journal
from kernel.agent.registry import Registry
from kernel.agent.root import Root
from kernel.agent.seen import Seen
from kernel.agent.toolbox import kode_tools
from kernel.doors.kode.messages import as_line, error
from kernel.doors.kode.read_first import ReadFirst
from kernel.doors.kode.stdio import answers
from kernel.errors import KernelError
from kernel.storage.user_data import open_user_data
from kernel.transport.descriptors import Wire, claim
from kernel.transport.stdio import StdioChannel

FAILED = 1
# Whoever starts a back end wants files edited; all that goes beyond is asked for by name.
ALWAYS_ALLOWED = (Danger.READS, Danger.WRITES)


def backend(chosen: argparse.Namespace) -> int:
    """Answer every call until stdin ends; nothing but messages is written to stdout."""
    wire = claim()
    logs.to_stderr()
    try:
        return _serve(wire, chosen)
    except KernelError as broken:
        wire.write(as_line(error(str(broken))))
    except OSError:  # whoever started us is gone
        pass
    return FAILED


def _serve(wire: Wire, chosen: argparse.Namespace) -> int:
    registry = kode_tools()
    context = _context(chosen, registry)
    try:
        for message in answers(StdioChannel(wire).lines(), registry, context):
            wire.write(as_line(message))
    finally:
        context.close()
    return 0


def _context(chosen: argparse.Namespace, registry: Registry) -> ToolContext:
    if not Path(chosen.root).is_dir():
        raise KernelError(f"{chosen.root} is no folder: --root must be the folder to work in.")
    root, seen = Root.at(Path(chosen.root)), Seen()
    permissions: Permissions = Allowed((*ALWAYS_ALLOWED, *map(Danger, chosen.allow)))
    if chosen.read_first:
        permissions = ReadFirst(permissions, registry, root, seen)
    session = f"backend-{secrets.token_hex(4)}"
    journal = Journal.under(open_user_data(chosen.user_data, os.environ).root, session, root)
    return ToolContext(root, journal, permissions=permissions, seen=seen)
