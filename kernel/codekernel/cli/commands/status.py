"""``codekernel status``, ``stop`` and ``savings``: the kernel that runs, its end, what it saved.

Savings are what agents did not read because they searched, and their formula.
"""

import argparse
import json
import os
import time
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from codekernel.cli.output.terminal import print_line
from codekernel.cli.process import ExitCode
from codekernel.client.connection import KernelConnection
from codekernel.domain.untrusted_text import escape_line
from codekernel.errors import KernelNotRunning, KernelUnavailable
from codekernel.runtime.savings import Savings, read_savings
from codekernel.storage.process_lock import ProcessLock
from codekernel.storage.user_data import UserData, open_user_data
from codekernel.transport.local_endpoint import choose_endpoint_path

# A kernel gives its sessions, clients and indexes some seconds each.
STOP_TIMEOUT_SECONDS = 30.0

_POLL_INTERVAL_SECONDS = 0.05

_MEGABYTE = 2**20
_MINUTE, _HOUR = 60, 3600


def run_status(args: argparse.Namespace) -> int:
    """Print who is attached and what is open; FAILED if no kernel runs. Raises KernelError."""
    user_data = open_user_data(args.user_data, os.environ)
    try:
        with _open_control(user_data, "status") as kernel:
            status = kernel.request("getKernelStatus")
    except KernelNotRunning:
        _print_result({"running": False}, f"no kernel runs for {user_data.root}", as_json=args.json)
        return ExitCode.FAILED
    if args.json:
        print_line(json.dumps({"running": True, **status}))
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
            + ("" if index.get("inUse", True) else ", open for the next search")
        )
    return ExitCode.OK


def run_stop(args: argparse.Namespace) -> int:
    """End the kernel and wait for its end; FAILED if none runs. Raises KernelError."""
    user_data = open_user_data(args.user_data, os.environ)
    try:
        with _open_control(user_data, "stop") as kernel:
            pid = int(kernel.request("getKernelStatus")["pid"])
            kernel.request("stopKernel")
    except KernelNotRunning:
        _print_result({"stopped": False}, f"no kernel runs for {user_data.root}", as_json=args.json)
        return ExitCode.FAILED
    new_pid = _wait_for_end(user_data, pid)
    text = f"the kernel has stopped (process {pid})"
    if new_pid:
        text += f"; a program that uses it has started another one (process {new_pid})"
    result = {"stopped": True, "pid": pid, "newPid": new_pid}
    _print_result(result, text, as_json=args.json)
    return ExitCode.OK


def _open_control(user_data: UserData, client: str) -> KernelConnection:
    """Attach to the kernel that runs, of whichever version. Raises KernelNotRunning."""
    return KernelConnection.open(user_data.root, client, may_start=False, mode="control")


def _wait_for_end(user_data: UserData, pid: int) -> int | None:
    """Wait until a kernel has ended; return the process of another one, if that runs already.

    Raises KernelUnavailable.
    """
    lock = ProcessLock(choose_endpoint_path(user_data.root).with_suffix(".lock"))
    deadline = time.monotonic() + STOP_TIMEOUT_SECONDS
    while time.monotonic() < deadline:
        with suppress(KernelUnavailable), _open_control(user_data, "stop") as kernel:
            found = int(kernel.request("getKernelStatus")["pid"])
            if found != pid:
                return found
        if lock.try_acquire():  # a kernel holds it as long as it lives
            lock.release()
            return None
        time.sleep(_POLL_INTERVAL_SECONDS)
    raise KernelUnavailable(
        f"the kernel does not end: process {pid};"
        f" {user_data.logs_folder / 'kernel.log'} says what it does"
    )


def _print_result(result: dict[str, Any], text: str, *, as_json: bool) -> None:
    print_line(json.dumps(result) if as_json else text)


def _format_age(since_ms: int) -> str:
    seconds = max(0, int(time.time() - since_ms / 1000))
    if seconds < _MINUTE:
        return f"{seconds} s"
    return f"{seconds // _MINUTE} min" if seconds < _HOUR else f"{seconds / _HOUR:.1f} h"


# As the budget of an answer has it; chat models need about a quarter less for code.
BYTES_PER_TOKEN = 3

_FORMULA = (
    f"formula: (bytes of files - bytes of answers) / {BYTES_PER_TOKEN}, with the first file of each"
    " answer, and with all; each file once for an answer. What an agent would have read without a"
    " search is not known."
)


def run_savings(args: argparse.Namespace) -> int:
    """Print the sums; OK if anything was counted, else FAILED. Raises KernelError."""
    savings = read_savings(open_user_data(args.user_data, os.environ))
    if args.json:
        tokens = {
            "leastTokens": count_tokens(savings.first_file_bytes - savings.answer_bytes),
            "mostTokens": count_tokens(savings.file_bytes - savings.answer_bytes),
        }
        print_line(json.dumps(asdict(savings) | tokens))
    elif savings.searches:
        for line in format_savings(savings):
            print_line(line)
    else:
        print_line("nothing is counted yet: no agent has searched; see codekernel install")
    return ExitCode.OK if savings.searches else ExitCode.FAILED


def count_tokens(number_of_bytes: int) -> int:
    """Return about how many tokens these bytes are; of less than none, none."""
    return max(0, number_of_bytes) // BYTES_PER_TOKEN


def format_savings(savings: Savings) -> list[str]:
    """Return the lines for a person."""
    since = time.strftime("%Y-%m-%d", time.localtime(savings.since))
    answers, files = count_tokens(savings.answer_bytes), count_tokens(savings.file_bytes)
    first = count_tokens(savings.first_file_bytes)
    least = count_tokens(savings.first_file_bytes - savings.answer_bytes)
    most = count_tokens(savings.file_bytes - savings.answer_bytes)
    return [
        f"{savings.searches} searches of agents since {since}, about {answers:,} tokens of answers",
        f"the files that they name, whole: {files:,} tokens; the first of each answer: {first:,}",
        f"not read: between {least:,} and {most:,} tokens",
        _FORMULA,
    ]
