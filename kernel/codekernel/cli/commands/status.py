"""``codekernel status`` and ``codekernel stop``: the kernel that all programs share."""

import argparse
import json
import os
import time
from contextlib import suppress

from codekernel.cli.output.terminal import print_line
from codekernel.cli.process import ExitCode
from codekernel.client.connection import KernelConnection
from codekernel.domain.untrusted_text import escape_line
from codekernel.errors import KernelNotRunning, KernelUnavailable, RefusedByKernel
from codekernel.storage.user_data import open_user_data

_MEGABYTE = 2**20
_MINUTE, _HOUR = 60, 3600


def run_status(args: argparse.Namespace) -> int:
    """Print who is attached and what is open; FAILED if no kernel runs. Raises KernelError."""
    user_data = open_user_data(args.user_data, os.environ)
    try:
        with KernelConnection.open(user_data.root, "status", may_start=False) as kernel:
            status = kernel.request("getKernelStatus")
    except KernelNotRunning:
        print_line("{}" if args.json else f"no kernel runs for {user_data.root}")
        return ExitCode.FAILED
    if args.json:
        print_line(json.dumps(status))
        return ExitCode.OK
    print_line(
        f"kernel {status['kernelVersion']}, process {status['pid']},"
        f" {status['memoryBytes'] / _MEGABYTE:.0f} MB, running for"
        f" {_format_age(status['startedAt'])}"
    )
    print_line(f"userData: {escape_line(status['userData'])}")
    for client in status["clients"]:
        repos = ", ".join(map(escape_line, client["repos"])) or "no repository"
        print_line(
            f"client {escape_line(client['name'])}, process {client['pid'] or 'unknown'}, for"
            f" {_format_age(client['attachedAt'])}: {repos}"
        )
    for index in status["indexes"]:
        print_line(
            f"index of {escape_line(index['repoName'])}: {index['state']},"
            f" {index['files']} files, {index['chunks']} chunks"
        )
    return ExitCode.OK


def run_stop(args: argparse.Namespace) -> int:
    """End the kernel; FAILED if none runs. Raises KernelError."""
    user_data = open_user_data(args.user_data, os.environ)
    try:
        with KernelConnection.open(user_data.root, "stop", may_start=False) as kernel:
            kernel.request("stopKernel")
            with suppress(KernelUnavailable):  # its connection is closed
                while True:
                    with suppress(RefusedByKernel):  # it is stopping
                        kernel.request("getRepos")
    except KernelNotRunning:
        print_line(f"no kernel runs for {user_data.root}")
        return ExitCode.FAILED
    print_line("the kernel has stopped")
    return ExitCode.OK


def _format_age(since_ms: int) -> str:
    seconds = max(0, int(time.time() - since_ms / 1000))
    if seconds < _MINUTE:
        return f"{seconds} s"
    return f"{seconds // _MINUTE} min" if seconds < _HOUR else f"{seconds / _HOUR:.1f} h"
