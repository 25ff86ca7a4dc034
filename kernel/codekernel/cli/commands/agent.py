"""``codekernel agent PROMPT``: run the agent in a terminal.

Or as JSON lines for programs (``--stdio``, ``--uap``), or undo a session (``--undo``).
"""

import argparse
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from codekernel.adapters.tricode import TricodeLines
from codekernel.adapters.uap.messages import UapLineWriter
from codekernel.agent.session_store import AgentSessionStore
from codekernel.agent.tools.call_format import format_tool_call, format_tool_result
from codekernel.agent.turn_workspace import find_latest_with_changes
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.cli.agent_turn import AgentEvent, AgentEventReader, begin_agent_turn
from codekernel.cli.folder_session import FolderSession
from codekernel.cli.kernel_access import open_kernel
from codekernel.cli.output import terminal
from codekernel.cli.output.terminal import OutputStream, TerminalStyle, print_notice
from codekernel.cli.process import ExitCode, raise_on_interrupt
from codekernel.cli.turn_stream import TurnStream
from codekernel.domain import turn_events as happened
from codekernel.domain.agent_sessions import Device
from codekernel.domain.turn import UndoState
from codekernel.domain.turn_events import (
    AgentSessionOpened,
    LoopEvent,
    PermissionRequested,
    PermissionSettled,
)
from codekernel.domain.untrusted_text import escape_line, escape_path_for_terminal, escape_text
from codekernel.errors import KernelError
from codekernel.runtime import logging_setup
from codekernel.storage.user_data import UserData, open_user_data
from codekernel.transport.descriptors import claim_stdio

_FAILED_COLOR = "31"

# Characters of a call or a result in its line.
_MAX_LINE_CHARS = 200


@dataclass(slots=True)
class AgentTerminalView:
    """Shows events one by one; control characters of models and files are escaped."""

    _write: Callable[[str], None]
    _notes: TextIO
    _screen: TerminalStyle
    _arguments: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    _is_mid_line: bool = False

    def show(self, event: LoopEvent) -> None:
        """Print an event at once; thoughts and rounds are not shown."""
        match event:
            case happened.AgentTextDelta(text):
                self._write(escape_text(text))
                self._is_mid_line = not text.endswith("\n")
            case happened.AgentToolUsed(call_id, tool, arguments):
                self._arguments[call_id] = arguments
                self._print_note(format_tool_call(tool, arguments))
            case happened.AgentToolReturned(call_id, text, success, name=tool):
                arguments = self._arguments.pop(call_id, {})
                short = format_tool_result(tool, arguments, text, success=success)
                self._print_note(f"  {short}", terminal.FAINT_COLOR if success else _FAILED_COLOR)
            case happened.TurnReminded(text):
                self._print_note(text)
            case happened.AgentFinished():
                self._end_line()
            case happened.TurnFailed(_, message):
                self._print_note(f"codekernel: {message}", "", len(message) + _MAX_LINE_CHARS)

    def _print_note(
        self, text: str, colour: str = terminal.FAINT_COLOR, max_chars: int = _MAX_LINE_CHARS
    ) -> None:
        self._end_line()
        line = text if "\n" not in text else text.replace("\n", " ")
        shown = escape_line(line if len(line) <= max_chars else f"{line[:max_chars]}...")
        terminal.write_styled(self._notes, f"{self._screen.colorize(shown, colour)}\n")
        self._notes.flush()

    def _end_line(self) -> None:
        if self._is_mid_line:
            self._write("\n")
            self._is_mid_line = False


# How an agent's work is written as lines for a program.
AgentLineFormat = TricodeLines | UapLineWriter


def select_line_format(*, uap: bool, partial: bool = False) -> AgentLineFormat:
    """Return the format of ``--uap`` or of ``--stdio``."""
    return UapLineWriter(partial=partial) if uap else TricodeLines()


def run_agent(args: argparse.Namespace) -> int:
    """Run the agent: OK if it answered, FAILED if not, INTERRUPTED if it was stopped."""
    if args.undo is not None:
        return _run_undo(args)
    return _run_for_program(args) if args.stdio or args.uap else _run_in_terminal(args)


def _run_for_program(args: argparse.Namespace) -> int:
    wire = claim_stdio()
    logging_setup.log_to_stderr()
    line_format = select_line_format(uap=args.uap, partial=args.partial)

    def show(event: AgentEvent | None) -> None:
        if isinstance(event, AgentSessionOpened):
            if args.uap:  # whose messages have no field for it
                print_notice(f"session {event.session}")
            greeting = line_format.format_greeting(
                event.session, resumed=bool(args.resume), unknown=event.unknown_tools
            )
            wire.write(b"".join(greeting))
        elif not isinstance(event, PermissionRequested | PermissionSettled):
            wire.write(b"".join(line_format.format_event(event)))

    try:
        with begin_agent_turn(args, can_ask=False) as turn:
            return _show_events(turn, show)
    except KernelError as error:
        wire.write(line_format.format_error(str(error)))
    except OSError:  # the program that started us is gone
        pass
    except Exception as error:  # raised again: the other program is told by a line of its format
        message = f"The agent stopped unexpectedly ({type(error).__name__})."
        wire.write(line_format.format_error(message))
        raise
    return ExitCode.FAILED


def _run_in_terminal(args: argparse.Namespace) -> int:
    terminal.use_utf8(sys.stdout)
    output = OutputStream(sys.stdout)
    style = terminal.detect_terminal_style(sys.stderr, os.environ, without_colors=args.no_color)
    view = AgentTerminalView(output.write, sys.stderr, style)

    def show(event: AgentEvent | None) -> None:
        if isinstance(event, AgentSessionOpened):
            _print_opened(event, is_resumed=bool(args.resume))
        elif isinstance(event, PermissionRequested):
            _ask_permission(event, turn)
        elif isinstance(event, PermissionSettled):
            _print_settled(event)
        elif event is not None:
            view.show(event)
        if output.is_closed:
            turn.stop()

    try:
        can_ask = sys.stdin.isatty() and sys.stderr.isatty()
        with begin_agent_turn(args, can_ask=can_ask) as turn:
            return _show_events(turn, show)
    except KernelError as error:
        print_notice(str(error))
        return ExitCode.FAILED


def _print_opened(opened: AgentSessionOpened, *, is_resumed: bool) -> None:
    if opened.unknown_tools:
        print_notice(f"there are no tools called {', '.join(opened.unknown_tools)}")
    print_notice(f"session {opened.session}{' goes on' if is_resumed else ''}")


def _print_settled(settled: PermissionSettled) -> None:
    """Say that a permission was answered on another device."""
    if settled.device not in {"", Device.TERMINAL}:
        answer = "allowed" if settled.allowed else "refused"
        print_notice(escape_line(f"{answer} by {settled.name or 'you'} ({settled.device})"))


def _show_events(turn: TurnStream, show: Callable[[AgentEvent | None], None]) -> int:
    """Run the turn and show its events, and None several times a second while there are none.

    The first Ctrl-C or SIGTERM stops the agent, the second one raises KeyboardInterrupt. Return
    the exit code.
    """
    code, reader = ExitCode.FAILED, AgentEventReader()
    for part in turn.follow(signal.SIGINT, signal.SIGTERM):
        for event in reader.read(part) if part is not None else (None,):
            show(event)
            if isinstance(event, happened.AgentFinished):
                code = ExitCode.OK
            elif isinstance(event, happened.TurnFailed):
                code = ExitCode.INTERRUPTED if turn.is_stopped else ExitCode.FAILED
    return code


def _ask_permission(request: PermissionRequested, turn: TurnStream) -> None:
    """Ask the person; Ctrl-C instead of an answer stops the agent."""
    text = json.dumps(dict(request.input), ensure_ascii=False, default=str)
    question = escape_line(f"{request.tool} {request.danger}: {text}")
    try:
        with raise_on_interrupt():
            sys.stderr.write(f"codekernel: {question}\nAllow it? [y/N] ")
            sys.stderr.flush()
            allowed = sys.stdin.readline().strip().lower() in {"y", "yes", "j", "ja", "是"}
    except KeyboardInterrupt:
        turn.stop()
    else:
        turn.answer_permission(request.tool_use_id, allowed=allowed)


def _run_undo(args: argparse.Namespace) -> int:
    """Undo a session and print the state of each file; FAILED if one was kept as it is."""
    terminal.use_utf8(sys.stdout)
    try:
        undone = _undo_chosen_session(open_user_data(args.user_data, os.environ), args)
    except KernelError as error:
        print_notice(str(error))
        return ExitCode.FAILED
    for each in undone:
        reason = f": {each['reason']}" if "reason" in each else ""
        sys.stdout.write(
            f"{each['state']:8} {escape_path_for_terminal(each['filePath'])}{escape_line(reason)}\n"
        )
    is_kept = any(each["state"] == UndoState.KEPT for each in undone)
    return ExitCode.FAILED if is_kept else ExitCode.OK


def _undo_chosen_session(user_data: UserData, args: argparse.Namespace) -> list[dict[str, str]]:
    """Undo ``--undo ID``, else the latest session with changes in the folder.

    Raises KernelError if there is no such session, or if it is running.
    """
    if args.undo:
        session = AgentSessionStore(user_data.root).load(args.undo)
        name, root = session.id, WorkspaceRoot.from_path(session.root)
    else:
        root = WorkspaceRoot.from_path(Path(args.root))
        latest = find_latest_with_changes(user_data.root, root)
        if latest is None:
            print_notice("there is nothing to undo in this folder")
            return []
        name = latest
    with open_kernel(args, user_data, "agent") as kernel:
        opened = FolderSession(kernel)
        kernel.wait_for_reply(opened.open(root.folder))
        undone: list[dict[str, str]] = opened.request("undoAgentSession", session=name)["files"]
    print_notice(f"session {name}: {'nothing to undo' if not undone else 'undone'}")
    return undone
