"""``codekernel models allow|deny [NAME]``: which remote models may be sent a repository."""

import argparse
import os
import sys
from typing import Any

from codekernel.cli.folder_session import FolderSession
from codekernel.cli.kernel_access import open_kernel
from codekernel.cli.output.terminal import print_line, print_notice
from codekernel.cli.process import ExitCode
from codekernel.cli.project_folder import find_project_root
from codekernel.domain.untrusted_text import escape_line
from codekernel.storage.user_data import open_user_data

_MEGABYTE = 1_000_000


def run_models_allow(args: argparse.Namespace) -> int:
    """Say what would be sent, ask, and keep the answer. Raises KernelError."""
    return _answer(args, allowed=True)


def run_models_deny(args: argparse.Namespace) -> int:
    """Keep that a repository is not sent to a remote model. Raises KernelError."""
    return _answer(args, allowed=False)


def _answer(args: argparse.Namespace, *, allowed: bool) -> int:
    root = find_project_root(args.repo)
    user_data = open_user_data(args.user_data, os.environ)
    with open_kernel(args, user_data, "models") as kernel:
        session = FolderSession(kernel)
        kernel.wait_for_reply(session.open(root))
        # What is counted before every file was read would be too little.
        asks = session.wait_for_index(until_complete=True).get("asks", [])
        asks = [each for each in asks if args.name in {None, each["model"]}]
        for ask in asks:
            print_line(describe_ask(ask))
        if not asks and args.name is None:
            print_line("no remote model waits for a permission here")
            return ExitCode.OK
        names = [args.name] if args.name else [each["model"] for each in asks]
        if allowed and not args.yes and not _confirm(str(root)):
            print_line("nothing is sent")
            return ExitCode.FAILED
        for name in names:
            session.request("allowEndpoint", model=name, allowed=allowed)
            print_line(f"{escape_line(name)}: {'allowed' if allowed else 'nothing is sent'}")
    return ExitCode.OK


def describe_ask(ask: dict[str, Any]) -> str:
    """Return one sentence on what would be sent."""
    name, endpoint = escape_line(ask["model"]), escape_line(ask["endpoint"])
    cost = "" if ask["cost"] is None else f", which cost about {ask['cost']:.2g}"
    size = ask["sizeBytes"] / _MEGABYTE
    when = "with each accurate search" if ask["eachSearch"] else "now, and later what changes"
    return (
        f"{name} would send to {endpoint}, {when}: {ask['chunks']:,} chunks of code,"
        f" {size:.2g} MB, about {ask['tokens']:,} tokens{cost}; secrets are masked"
    )


def _confirm(folder: str) -> bool:
    if not sys.stdin.isatty():
        print_notice("say --yes to allow it without being asked")
        return False
    print(f"Send code of {escape_line(folder)}? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in {"y", "yes"}
