"""``codekernel agent PROMPT``.

Run the agent in a terminal, as JSON lines for programs (``--stdio``, ``--uap``), or undo a
session (``--undo``).
"""

import argparse
import json
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol, TextIO

from codekernel.adapters import tricode
from codekernel.adapters.tricode import TricodeMessageBuilder, make_greeting
from codekernel.adapters.uap.messages import UapLineWriter
from codekernel.agent.agent_thread import AgentThread, PermissionPrompt
from codekernel.agent.session_store import AgentSessionStore
from codekernel.agent.tool_policy import ToolPermissionRequest
from codekernel.agent.tools.call_format import format_tool_call, format_tool_result
from codekernel.agent.undo import find_latest_with_changes, undo_session
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.cli.agent_setup import PreparedAgent, follow_agent, prepare_agent
from codekernel.cli.commands.serve import SINGLE_THREAD_ENV
from codekernel.cli.output.answer import OutputStream
from codekernel.cli.output.terminal import (
    FAINT_COLOR,
    TerminalStyle,
    detect_terminal_style,
    print_notice,
    use_utf8,
    write_styled,
)
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.turn import UndoResult, UndoState
from codekernel.domain.turn_events import (
    AgentFinished,
    AgentTextDelta,
    AgentToolReturned,
    AgentToolUsed,
    LoopEvent,
    TurnFailed,
    TurnReminded,
)
from codekernel.domain.untrusted_text import escape_line, escape_path_for_terminal, escape_text
from codekernel.errors import KernelError
from codekernel.runtime import logging_setup
from codekernel.storage.user_data import open_user_data
from codekernel.transport.descriptors import StdioPipe, claim_stdio

_FAILED_COLOR = "31"

# Characters of a call or a result in its line.
_MAX_LINE_CHARS = 200


class AgentTerminalView:
    """Shows events one by one; nothing of a model or a file can command the terminal."""

    def __init__(self, write: Callable[[str], None], notes: TextIO, screen: TerminalStyle) -> None:
        self._write = write
        self._notes = notes
        self._screen = screen
        self._arguments: dict[str, Mapping[str, Any]] = {}
        self._is_mid_line = False

    def show(self, event: LoopEvent) -> None:
        """Show it at once; thoughts and rounds are not shown."""
        match event:
            case AgentTextDelta(text):
                self._write(escape_text(text))
                self._is_mid_line = not text.endswith("\n")
            case AgentToolUsed(tool_use_id, tool, arguments):
                self._arguments[tool_use_id] = arguments
                self._print_note(format_tool_call(tool, arguments))
            case AgentToolReturned(tool_use_id, text, success, name=tool):
                given = self._arguments.pop(tool_use_id, {})
                short = format_tool_result(tool, given, text, success=success)
                self._print_note(f"  {short}", FAINT_COLOR if success else _FAILED_COLOR)
            case TurnReminded(text):
                self._print_note(text)
            case AgentFinished():
                self._end_line()
            case TurnFailed(_, message):
                self._print_note(f"codekernel: {message}", "", len(message) + _MAX_LINE_CHARS)

    def _print_note(
        self, text: str, colour: str = FAINT_COLOR, max_chars: int = _MAX_LINE_CHARS
    ) -> None:
        self._end_line()
        line = text if "\n" not in text else text.replace("\n", " ")
        shown = escape_line(line if len(line) <= max_chars else f"{line[:max_chars]}...")
        write_styled(self._notes, f"{self._screen.colorize(shown, colour)}\n")
        self._notes.flush()

    def _end_line(self) -> None:
        if self._is_mid_line:
            self._write("\n")
            self._is_mid_line = False


EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED = 0, 1, 130


class AgentLineFormat(Protocol):
    """How an agent's work is written down for a program."""

    def format_greeting(
        self, session: str, *, resumed: bool, unknown: Iterable[str]
    ) -> Iterable[bytes]:
        """What is said before anything happens."""

    def format_event(self, event: LoopEvent | None) -> Iterable[bytes]:
        """What is said of an event, or of a moment in which nothing happens."""

    def format_error(self, message: str) -> bytes:
        """The line for an agent that cannot begin."""


def run_agent_lines(args: argparse.Namespace) -> int:
    """Run the agent; 0 if it has answered, 1 if not, 130 if it was stopped."""
    wire = claim_stdio()
    logging_setup.log_to_stderr()
    voice = select_line_format(uap=args.uap, partial=args.partial)
    try:
        return _run_over_wire(wire, voice, args)
    except KernelError as error:
        wire.write(voice.format_error(str(error)))
    except OSError:  # whoever started us is gone
        pass
    except Exception as error:
        wire.write(voice.format_error(f"The agent stopped unexpectedly ({type(error).__name__})."))
        raise
    return EXIT_FAILED


def select_line_format(*, uap: bool, partial: bool = False) -> AgentLineFormat:
    """The protocol that was asked for."""
    return UapLineWriter(partial=partial) if uap else _TricodeLines()


def _run_over_wire(wire: StdioPipe, line_format: AgentLineFormat, args: argparse.Namespace) -> int:
    cancel = CancelToken()
    with prepare_agent(args, cancel, None) as agent:
        if args.uap:  # whose messages have no place for it
            print_notice(f"session {agent.session.id}")
        _write_greeting(wire, line_format, agent)
        code = EXIT_FAILED
        thread = AgentThread(cancel)
        coming = follow_agent(thread, agent.run(" ".join(args.prompt), cancel), cancel)
        with closing(coming) as events:
            for event in events:
                if isinstance(event, PermissionPrompt):  # nobody is asked here
                    event.answer(allowed=False)
                    continue
                if isinstance(event, AgentFinished):
                    code = EXIT_DONE
                elif isinstance(event, TurnFailed):
                    code = EXIT_INTERRUPTED if cancel.is_cancelled else EXIT_FAILED
                for line in line_format.format_event(event):
                    wire.write(line)
        return code


def _write_greeting(wire: StdioPipe, line_format: AgentLineFormat, agent: PreparedAgent) -> None:
    for line in line_format.format_greeting(
        agent.session.id, resumed=agent.is_resumed, unknown=agent.unknown_tools
    ):
        wire.write(line)


class _TricodeLines:
    """Document 001."""

    def __init__(self) -> None:
        self._formatter = TricodeMessageBuilder()

    def format_greeting(
        self, session: str, *, resumed: bool, unknown: Iterable[str]
    ) -> Iterable[bytes]:
        """The session's id, and which tools nobody knows."""
        yield tricode.encode_line(make_greeting(session, resumed=resumed))
        if names := ", ".join(unknown):
            yield tricode.encode_line(
                tricode.make_system_message(f"Unknown tools left out: {names}")
            )

    def format_event(self, event: LoopEvent | None) -> Iterable[bytes]:
        """One line for each message."""
        return map(
            tricode.encode_line, self._formatter.build_messages(event) if event is not None else ()
        )

    def format_error(self, message: str) -> bytes:
        """An error line."""
        return tricode.encode_line(tricode.make_error_message(message))


EXIT_UNDONE, EXIT_PARTLY_UNDONE = 0, 1


def run_undo(args: argparse.Namespace) -> int:
    """Undo and say what became of each file: 0 if nothing is left to undo, else 1."""
    use_utf8(sys.stdout)
    try:
        undone = _undo_chosen_session(open_user_data(args.user_data, os.environ).root, args)
    except KernelError as error:
        print_notice(str(error))
        return EXIT_PARTLY_UNDONE
    for each in undone:
        reason = f": {each.reason}" if each.reason else ""
        sys.stdout.write(
            f"{each.state:8} {escape_path_for_terminal(each.path)}{escape_line(reason)}\n"
        )
    return (
        EXIT_PARTLY_UNDONE if any(each.state is UndoState.KEPT for each in undone) else EXIT_UNDONE
    )


def _undo_chosen_session(user_data: Path, args: argparse.Namespace) -> list[UndoResult]:
    """Raises KernelError: no such session, or it is at work."""
    if args.undo:
        session = AgentSessionStore(user_data).load(args.undo)
        name, root = session.id, WorkspaceRoot.from_path(session.root)
    else:
        root = WorkspaceRoot.from_path(Path(args.root))
        latest = find_latest_with_changes(user_data, root)
        if latest is None:
            print_notice("there is nothing to undo in this folder")
            return []
        name = latest
    undone = undo_session(user_data, name, root)
    print_notice(f"session {name}: {'nothing to undo' if not undone else 'undone'}")
    return undone


def run_agent(args: argparse.Namespace) -> int:
    """Run the agent and end the process: 0 if it has answered, 1 if not, 130 if it was stopped."""
    for name, value in SINGLE_THREAD_ENV.items():  # read when numpy is imported
        os.environ.setdefault(name, value)
    if args.undo is not None:
        return run_undo(args)
    try:
        code = run_agent_lines(args) if args.stdio or args.uap else _run_in_terminal(args)
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
    # A tool that was given up may still be at work on a thread, and what is on disk is whole.
    os._exit(code)


def _run_in_terminal(args: argparse.Namespace) -> int:
    logging.getLogger().addHandler(logging.NullHandler())  # what matters is said, not logged
    use_utf8(sys.stdout)
    cancel = CancelToken()
    thread = AgentThread(cancel)
    somebody_is_there = sys.stdin.isatty() and sys.stderr.isatty()
    try:
        with prepare_agent(args, cancel, thread.ask if somebody_is_there else None) as agent:
            _print_session(agent)
            return _show_events(args, thread, agent, cancel)
    except KernelError as error:
        print_notice(str(error))
        return EXIT_FAILED


def _print_session(agent: PreparedAgent) -> None:
    if agent.unknown_tools:
        print_notice(f"there are no tools called {', '.join(agent.unknown_tools)}")
    print_notice(f"session {agent.session.id}{' goes on' if agent.is_resumed else ''}")


def _show_events(
    args: argparse.Namespace, thread: AgentThread, agent: PreparedAgent, cancel: CancelToken
) -> int:
    output = OutputStream(sys.stdout)
    screen = detect_terminal_style(sys.stderr, os.environ, without_colors=args.no_color)
    view = AgentTerminalView(output.write, sys.stderr, screen)
    code = EXIT_FAILED
    coming = follow_agent(thread, agent.run(" ".join(args.prompt), cancel), cancel)
    with closing(coming) as events:
        for event in events:
            if isinstance(event, PermissionPrompt):
                event.answer(allowed=_ask_permission(event.request, cancel))
            elif event is not None:
                view.show(event)
            if output.is_closed:
                cancel.cancel()
            if isinstance(event, AgentFinished):
                code = EXIT_DONE
            elif isinstance(event, TurnFailed):
                code = EXIT_INTERRUPTED if cancel.is_cancelled else EXIT_FAILED
    return code


def _ask_permission(wish: ToolPermissionRequest, cancel: CancelToken) -> bool:
    """What the person says; Ctrl-C instead of an answer stops the agent."""
    given = wish.arguments
    told = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False, default=str)
    wanted = f"{wish.tool} {wish.permission}: {told}"
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        sys.stderr.write(f"codekernel: {escape_line(wanted)}\nAllow it? [y/N] ")
        sys.stderr.flush()
        return sys.stdin.readline().strip().lower() in {"y", "yes", "j", "ja", "是"}
    except KeyboardInterrupt:
        cancel.cancel()
        return False
    finally:
        signal.signal(signal.SIGINT, before)
