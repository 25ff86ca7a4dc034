"""``codekernel repos``: list, add and remove repositories; delete indexes nobody uses."""

import argparse
import json
import os
import time
from typing import Any

from codekernel.cli.output.terminal import print_line
from codekernel.cli.process import ExitCode
from codekernel.cli.project_folder import find_project_root
from codekernel.client.connection import KernelConnection
from codekernel.domain.untrusted_text import escape_line
from codekernel.errors import RefusedByKernel, WrongParam
from codekernel.storage.user_data import open_user_data

_MEGABYTE = 2**20
_SESSION_ID = 1


def run_repos(args: argparse.Namespace) -> int:
    """Do what is asked and print the result. Raises KernelError."""
    user_data = open_user_data(args.user_data, os.environ)
    with KernelConnection.open(user_data.root, "repos") as kernel:
        try:
            return _ACTIONS[args.action or "list"](args, kernel)
        except RefusedByKernel as error:
            raise WrongParam(str(error)) from error


def _list(args: argparse.Namespace, kernel: KernelConnection) -> int:
    indexes = kernel.request("getIndexes")["indexes"]
    if args.json:
        print_line(json.dumps(indexes))
        return ExitCode.OK
    for index in indexes:
        print_line(format_index(index))
    if not indexes:
        print_line("no repository is registered; search in one, or say: codekernel repos add DIR")
    return ExitCode.OK


def _add(args: argparse.Namespace, kernel: KernelConnection) -> int:
    folder = find_project_root(args.folder)
    opened = kernel.request("openFolder", {"path": str(folder), "sessionId": _SESSION_ID})
    print_line(f"{escape_line(str(folder))} is the repository {escape_line(opened['repoName'])}")
    return ExitCode.OK


def _remove(args: argparse.Namespace, kernel: KernelConnection) -> int:
    kernel.request("deleteRepo", {"repoName": args.name})
    print_line(f"{escape_line(args.name)} is forgotten; its folder is as it was")
    return ExitCode.OK


def _clean(args: argparse.Namespace, kernel: KernelConnection) -> int:
    fields = {"days": args.days, "dryRun": args.dry_run}
    cleaned = kernel.request("cleanIndexes", fields)["cleaned"]
    if args.json:
        print_line(json.dumps(cleaned))
        return ExitCode.OK
    verb = "would delete" if args.dry_run else "deleted"
    for index in cleaned:
        name = escape_line(index["path"] or index["folder"])
        size = f"{index['sizeBytes'] / _MEGABYTE:.1f} MB"
        print_line(f"{verb} the index of {name} ({size}): {index['reason']}")
    total = sum(index["sizeBytes"] for index in cleaned) / _MEGABYTE
    print_line(f"{len(cleaned)} indexes, {total:.1f} MB")
    return ExitCode.OK


def format_index(index: dict[str, Any]) -> str:
    """Return the line of one index."""
    name = escape_line(index["repoName"] or f"({index['folder']}, not registered)")
    used = time.strftime("%Y-%m-%d %H:%M", time.localtime(index["usedAt"] / 1000))
    parts = [
        f"{name}: {escape_line(index['path'])}" if index["path"] else name,
        f"{index['files']} files, {index['chunks']} chunks",
        f"{index['sizeBytes'] / _MEGABYTE:.1f} MB",
        f"used {used}" if index["usedAt"] else "never used",
    ]
    if index["gone"]:
        parts.append("its folder is gone")
    if index["openIn"]:
        parts.append(f"open in {', '.join(map(escape_line, index['openIn']))}")
    return "; ".join(parts)


_ACTIONS = {"list": _list, "add": _add, "remove": _remove, "clean": _clean}
