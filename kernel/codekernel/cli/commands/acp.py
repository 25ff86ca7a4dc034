"""``codekernel acp``: our agent for editors that speak the Agent Client Protocol."""

import argparse
import os

from codekernel.adapters.acp.stdio_server import serve_editor
from codekernel.cli.agent_access import open_agent_sessions
from codekernel.cli.process import ExitCode, exit_now, handle_stop_signals
from codekernel.domain.settings import OWN_AGENT
from codekernel.runtime import logging_setup
from codekernel.storage.user_data import open_user_data
from codekernel.transport.descriptors import claim_stdio


def run_acp(args: argparse.Namespace) -> int:
    """Serve an editor until it closes stdin. Raises KernelError."""
    wire = claim_stdio()
    logging_setup.log_to_stderr()
    user_data = open_user_data(args.user_data, os.environ)
    with open_agent_sessions(args, user_data, "acp") as sessions:
        handle_stop_signals(lambda: exit_now(ExitCode.OK, sessions.close))
        serve_editor(wire, sessions, args.agent or OWN_AGENT)
    return ExitCode.OK
