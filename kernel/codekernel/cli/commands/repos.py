"""``codekernel repos``: list, add and remove repositories; delete indexes nobody uses."""

import argparse
import json
import os
import sys
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

Index = dict[str, Any]


def run_repos(args: argparse.Namespace) -> int:
    """Do what is asked and print the result. Raises KernelError."""
    user_data = open_user_data(args.user_data, os.environ)
    with KernelConnection.open(user_data.root, "repos") as kernel:
        try:
            return _ACTIONS[args.action or "list"](args, kernel)
        except RefusedByKernel as error:
            raise WrongParam(str(error)) from error


def _list(args: argparse.Namespace, kernel: KernelConnection) -> int:
    reply = kernel.request("getIndexes")
    indexes = reply["indexes"]
    if args.json:
        print_line(json.dumps(indexes))
        return ExitCode.OK
    for index in indexes:
        print_line(format_index(index))
    if not indexes:
        print_line("no repository is registered; search in one, or say: codekernel repos add DIR")
    if shared := reply["sharedVectorsBytes"]:
        print_line(f"vectors that they share: {_format_size(shared)}")
    return ExitCode.OK


def _add(args: argparse.Namespace, kernel: KernelConnection) -> int:
    folder = find_project_root(args.folder)
    opened = kernel.request("openFolder", {"path": str(folder), "sessionId": _SESSION_ID})
    if args.json:
        print_line(json.dumps(opened))
    else:
        name = escape_line(opened["repoName"])
        print_line(f"{escape_line(str(folder))} is the repository {name}")
    return ExitCode.OK


def _remove(args: argparse.Namespace, kernel: KernelConnection) -> int:
    index = _find_index(args.name, kernel.request("getIndexes")["indexes"])
    name = index["repoName"] if index else args.name  # an unknown one is refused by the kernel
    if index and index["openIn"] and not args.force:
        raise WrongParam(
            f"{escape_line(name)} is open in {_format_clients(index)}:"
            " close it there, or say --force to close it for them"
        )
    kernel.request("deleteRepo", {"repoName": name})
    if args.json:
        print_line(json.dumps({"repoName": name}))
    else:
        print_line(f"{escape_line(name)} is forgotten; its folder is as it was")
    return ExitCode.OK


def _find_index(name: str, indexes: list[Index]) -> Index | None:
    """Return the index of the repository with this name, else with this folder."""
    repos = [index for index in indexes if index["repoName"]]
    folder = os.path.realpath(name)
    named = [index for index in repos if index["repoName"] == name]
    around = [index for index in repos if os.path.realpath(index["path"]) == folder]
    return next(iter(named + around), None)


def _clean(args: argparse.Namespace, kernel: KernelConnection) -> int:
    fields = {"days": args.days, "dryRun": True}
    found = kernel.request("cleanIndexes", fields)
    is_dry = args.dry_run
    if args.json:
        found = found if is_dry else kernel.request("cleanIndexes", {**fields, "dryRun": False})
        print_line(json.dumps(found["cleaned"]))
        return ExitCode.OK
    _print_cleaned(found, "would delete")
    if is_dry or not (found["cleaned"] or found["sharedVectorsBytes"]):
        return ExitCode.OK
    if not args.yes and sys.stdin.isatty() and not _confirm():
        print_line("nothing was deleted")
        return ExitCode.OK
    cleaned = kernel.request("cleanIndexes", {**fields, "dryRun": False})
    print_line(f"deleted: {_summarize(cleaned)}")
    return ExitCode.OK


def _confirm() -> bool:
    print("Delete them? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _print_cleaned(cleaned: dict[str, Any], verb: str) -> None:
    for index in cleaned["cleaned"]:
        name = escape_line(index["path"] or index["folder"])
        size = _format_size(index["sizeBytes"])
        print_line(f"{verb} the index of {name} ({size}): {index['reason']}")
    if shared := cleaned["sharedVectorsBytes"]:
        print_line(f"{verb} vectors that no index uses ({_format_size(shared)})")
    print_line(_summarize(cleaned))


def _summarize(cleaned: dict[str, Any]) -> str:
    indexes = cleaned["cleaned"]
    total = sum(index["sizeBytes"] for index in indexes) + cleaned["sharedVectorsBytes"]
    count = f"{len(indexes)} {'index' if len(indexes) == 1 else 'indexes'}"
    return f"{count}, {_format_size(total)}"


def _format_size(size_bytes: int) -> str:
    return f"{size_bytes / _MEGABYTE:.1f} MB"


def _format_clients(index: Index) -> str:
    return ", ".join(map(escape_line, index["openIn"]))


def format_index(index: Index) -> str:
    """Return the line of one index."""
    name = escape_line(index["repoName"] or f"({index['folder']}, not registered)")
    used = time.strftime("%Y-%m-%d %H:%M", time.localtime(index["usedAt"] / 1000))
    parts = [
        f"{name}: {escape_line(index['path'])}" if index["path"] else name,
        f"{index['files']} files, {index['chunks']} chunks",
        _format_size(index["sizeBytes"]),
        f"used {used}" if index["usedAt"] else "never used",
    ]
    if index["gone"]:
        parts.append("its folder is gone")
    if index["openIn"]:
        parts.append(f"open in {_format_clients(index)}")
    return "; ".join(parts)


_ACTIONS = {"list": _list, "add": _add, "remove": _remove, "clean": _clean}
