"""``codekernel install`` and ``uninstall``: our MCP server in the config files of coding agents."""

import argparse
import difflib
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from codekernel.adapters.agent_config.clients import CLIENTS, AgentClient
from codekernel.adapters.agent_config.config_file import InstallRecord
from codekernel.adapters.agent_config.installer import (
    ChangeAction,
    PlannedChange,
    apply_change,
    list_unrecorded,
    plan_install,
    plan_uninstall,
    settle_unchanged,
)
from codekernel.adapters.agent_config.machine import (
    MachineFolders,
    find_user_command,
    make_project_command,
)
from codekernel.adapters.agent_config.targets import InstallScope
from codekernel.adapters.agent_config.text_edits import RefusedEdit
from codekernel.cli.output import terminal
from codekernel.cli.output.terminal import print_line
from codekernel.cli.process import ExitCode
from codekernel.cli.project_folder import find_project_root
from codekernel.domain.untrusted_text import escape_line
from codekernel.errors import WrongParam
from codekernel.masking.masker import mask_secrets
from codekernel.storage.user_data import open_user_data

# Lines around a change; the entries beside ours are nobody's business.
DIFF_CONTEXT_LINES = 1

_TITLES = {client.name: client.title for client in CLIENTS}
_DIFF_COLORS = {"+": "32", "-": "31", "@": "36"}
_DONE = {
    ChangeAction.CREATE: "created",
    ChangeAction.ADD: "added",
    ChangeAction.UPDATE: "updated",
    ChangeAction.REMOVE: "removed",
    ChangeAction.DELETE: "deleted",
}
_LEFT_ALONE = "left alone"
_NOT_TOUCHED = {ChangeAction.KEPT, ChangeAction.BROKEN, ChangeAction.REFUSED}
_FAILURES = {ChangeAction.BROKEN, ChangeAction.REFUSED}


def run_install(args: argparse.Namespace) -> int:
    """Show what would be written, and write it after a yes. Raises KernelError."""
    scope, record = _open_scope(args)
    chosen = _choose_clients(args.agent)
    clients = scope.find_agents() if chosen is None else chosen
    if not clients:
        raise WrongParam(f"no coding agent is found here; name one with --agent: {_list_names()}")
    if scope.project:
        _name_agents_without_project_file(clients)
    plan = plan_install(scope.list_targets(clients, args.parts), record, scope.project)
    done = _carry_out(args, plan, record, is_install=True)
    if not args.json:
        _print_advice(clients, done)
    return _choose_exit_code(done)


def run_uninstall(args: argparse.Namespace) -> int:
    """Show what would be taken away, and do it after a yes. Raises KernelError."""
    scope, record = _open_scope(args)
    chosen = _choose_clients(args.agent)
    names = None if chosen is None else [client.name for client in chosen]
    plan = plan_uninstall(record, names, scope.project)
    targets = scope.list_targets(scope.find_agents() if chosen is None else chosen, ())
    plan += list_unrecorded(targets, record)
    done = _carry_out(args, plan, record, is_install=False)
    elsewhere = sorted({change.project for change in record.list_changes() if change.project})
    if not args.json and scope.project is None:
        for project in elsewhere:
            print_line(f"also installed in {project}: codekernel uninstall --project {project}")
    return _choose_exit_code(done)


def _open_scope(args: argparse.Namespace) -> tuple[InstallScope, InstallRecord]:
    user_data = open_user_data(args.user_data, os.environ)
    folders = MachineFolders.of_this_machine()
    if args.project is None:
        scope = InstallScope(folders, find_user_command(os.environ, user_data))
    else:
        project = find_project_root(args.project or None)
        scope = InstallScope(folders, make_project_command(), project)
    return scope, InstallRecord.open(user_data)


def _choose_clients(names: Sequence[str] | None) -> list[AgentClient] | None:
    if not names:
        return None
    known = {client.name: client for client in CLIENTS}
    for name in names:
        if name not in known:
            raise WrongParam(f"no agent is called {name}; there are {_list_names()}")
    return [known[name] for name in dict.fromkeys(names)]


def _list_names() -> str:
    return ", ".join(client.name for client in CLIENTS)


def _name_agents_without_project_file(clients: Iterable[AgentClient]) -> None:
    without = [client.title for client in clients if not client.project_config]
    if without:
        terminal.print_notice(f"no file in a project lists the servers of {', '.join(without)}")


def _carry_out(
    args: argparse.Namespace, plan: list[PlannedChange], record: InstallRecord, *, is_install: bool
) -> list[PlannedChange]:
    """Show the plan, ask, apply, report; return what was done or would be."""
    has_changes = any(change.is_change for change in plan)
    if not args.json:
        _print_plan(plan)
        if not plan:
            print_line("there is nothing to write" if is_install else "nothing is installed")
    may_write = not args.dry_run and (args.yes or (not args.json and has_changes and _confirm()))
    if may_write or (not has_changes and not args.dry_run):
        plan = [_apply(change, record, is_install=is_install) for change in plan]
    if args.json:
        dumped = [_dump_change(change, is_written=may_write) for change in plan]
        print_line(json.dumps(dumped))
    elif has_changes:
        _print_result(plan, may_write=may_write)
    return plan


def _apply(change: PlannedChange, record: InstallRecord, *, is_install: bool) -> PlannedChange:
    try:
        apply_change(change, record)
        settle_unchanged(change, record, is_install=is_install)
    except RefusedEdit as error:
        place = change.agents, change.part, change.path
        return PlannedChange(*place, ChangeAction.REFUSED, str(error))
    return change


def _confirm() -> bool:
    if not sys.stdin.isatty():
        terminal.print_notice("nothing is written without a yes: say --yes")
        return False
    print("Write this? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def _print_plan(plan: Iterable[PlannedChange]) -> None:
    style = terminal.detect_terminal_style(sys.stdout, os.environ, without_colors=False)
    shown: set[tuple[str, ...]] = set()
    for change in plan:
        agents = ", ".join(_TITLES.get(agent, agent) for agent in change.agents)
        verb = _LEFT_ALONE if change.action in _NOT_TOUCHED else change.action.value
        reason = f": {change.reason}" if change.reason else ""
        print_line(f"{agents}: {verb} {change.path} ({change.part}){reason}")
        rows = tuple(make_diff(change))
        if rows in shown:
            rows = ("(as above)",)
        elif change.action is ChangeAction.DELETE:
            rows = ()
        elif rows:
            shown.add(rows)
        for row in rows:
            colored = style.colorize(escape_line(row), _DIFF_COLORS.get(row[:1], ""))
            terminal.write_lines([f"    {colored}"])


def make_diff(change: PlannedChange) -> Iterator[str]:
    """Return the lines that would change, without secrets of the lines around them."""
    if not change.is_change or change.file is None:
        return
    before = mask_secrets(change.file.text).text.splitlines()
    after = mask_secrets(change.after).text.splitlines()
    rows = difflib.unified_diff(before, after, lineterm="", n=DIFF_CONTEXT_LINES)
    yield from list(rows)[2:]  # the file was named


def _print_result(plan: list[PlannedChange], *, may_write: bool) -> None:
    if not may_write:
        print_line("nothing was written")
        return
    for action, word in _DONE.items():
        count = sum(change.action is action for change in plan)
        if count:
            print_line(f"{word}: {count}")


def _print_advice(clients: Iterable[AgentClient], done: list[PlannedChange]) -> None:
    changed = {agent for change in done if change.is_change for agent in change.agents}
    for client in clients:
        if client.advice and client.name in changed:
            print_line(f"{client.title}: {client.advice}")


def _dump_change(change: PlannedChange, *, is_written: bool) -> dict[str, Any]:
    return {
        "agents": list(change.agents),
        "part": change.part,
        "path": str(change.path),
        "action": change.action.value,
        "reason": change.reason,
        "isWritten": is_written and change.is_change,
        "diff": "\n".join(make_diff(change)),
    }


def _choose_exit_code(done: list[PlannedChange]) -> int:
    has_failed = any(change.action in _FAILURES for change in done)
    return ExitCode.FAILED if has_failed else ExitCode.OK
