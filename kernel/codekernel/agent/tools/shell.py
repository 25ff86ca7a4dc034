"""run_command with a timeout, and the tools of interactive terminal sessions.

These are start_session, send_input, read_output, close_session and list_sessions.
"""

import subprocess
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass
from io import BytesIO

from codekernel.agent.tool import ToolContext, ToolOutcome, make_failure, make_success, tool
from codekernel.agent.tool_policy import ToolError, ToolPermission
from codekernel.agent.workspace.processes import (
    build_shell_command,
    signal_group,
    start_process,
    terminate_group,
)
from codekernel.agent.workspace.root import open_working_folder
from codekernel.agent.workspace.terminals import Terminal, TerminalOutput
from codekernel.errors import Cancelled
from codekernel.protocol.tool_schema import NonNegativeSeconds

_POLL_INTERVAL_SECONDS = 0.05

# What the command left running may still hold its output open; it is ended after that.
_LAST_OUTPUT_TIMEOUT_SECONDS = 0.3

# A command that floods is read at 60 MB a second at the most, which leaves processor time.
_FLOOD_THROTTLE_SECONDS = 0.001


@dataclass(frozen=True, slots=True)
class RunCommandArguments:
    """What to run, where, and for how long.

    command: a command line for the shell
    timeout: the most seconds it may take; then it is ended
    cwd: the folder it runs in
    """

    command: str
    timeout: NonNegativeSeconds | None = None
    cwd: str = "."


@tool("run_command", ToolPermission.RUNS)
def run_command(arguments: RunCommandArguments, context: ToolContext) -> ToolOutcome:
    """Run a shell command in the repository and get what it prints, the end of it if that is much.

    It cannot be typed to: use start_session for that.
    """
    if not arguments.command.strip() or "\0" in arguments.command:
        raise ToolError("The command is empty, or has a NUL character in it.")
    limits = context.limits
    seconds = min(
        arguments.timeout or limits.command_timeout_seconds, limits.max_command_timeout_seconds
    )
    with open_working_folder(context.root, arguments.cwd) as folder:
        process = start_process(build_shell_command(arguments.command), folder)
    output = TerminalOutput(limits.max_command_characters)
    threading.Thread(target=_read_pipe, args=(process, output), name="command", daemon=True).start()
    with ExitStack() as ending:
        ending.callback(terminate_group, process)
        if in_time := _wait_for_exit(process, output, seconds, context):
            ending.pop_all()
    output.wait_for_end(_LAST_OUTPUT_TIMEOUT_SECONDS)
    return _build_outcome(output.take(), process.poll(), None if in_time else seconds)


def _wait_for_exit(
    process: "subprocess.Popen[bytes]", output: TerminalOutput, seconds: float, context: ToolContext
) -> bool:
    """Whether the command ended in time; what it left running is ended then."""
    deadline = time.monotonic() + seconds
    while process.poll() is None:
        if context.cancel.is_cancelled:
            raise Cancelled("the command was cancelled")
        if time.monotonic() >= deadline:
            return False
        try:
            process.wait(_POLL_INTERVAL_SECONDS)
        except subprocess.TimeoutExpired:
            continue
    if not output.wait_for_end(_LAST_OUTPUT_TIMEOUT_SECONDS):
        signal_group(process, gently=False)
    return True


def _read_pipe(process: "subprocess.Popen[bytes]", output: TerminalOutput) -> None:
    with process.stdout or BytesIO() as pipe:
        output.read_from(pipe.read1, _FLOOD_THROTTLE_SECONDS)  # type: ignore[attr-defined]


def _build_outcome(text: str, code: int | None, ended_after: float | None) -> ToolOutcome:
    data = {"output": text, "exit_code": code, "timed_out": ended_after is not None}
    output = text if not text or text.endswith("\n") else f"{text}\n"
    if ended_after is not None:
        return make_failure(f"{output}[ended after {ended_after:g} seconds, its time limit]", data)
    if code:
        return make_failure(f"{output}[exit code {code}]", data)
    return make_success(text or "[no output]", data)


# A prompt is shown within this time by most programs.
_FIRST_OUTPUT_TIMEOUT_SECONDS = 1.0

_START_QUIET_SECONDS = 0.15


@dataclass(frozen=True, slots=True)
class StartSessionArguments:
    """What runs, and where.

    command: the program to talk to: bash, python3, ssh host, npm run dev
    cwd: the folder it runs in
    """

    command: str
    cwd: str = "."


@tool("start_session", ToolPermission.RUNS)
def start_session(arguments: StartSessionArguments, context: ToolContext) -> ToolOutcome:
    """Start a program that stays open in a terminal: a shell, an interpreter, a server.

    Gives a session id for send_input, read_output and close_session.
    """
    if not arguments.command.strip() or "\0" in arguments.command:
        raise ToolError("The command is empty, or has a NUL character in it.")
    limits = context.limits
    with open_working_folder(context.root, arguments.cwd) as folder:
        terminal = context.terminals.start(
            arguments.command, folder, limits.max_command_characters, limits.max_terminals
        )
    terminal.output.wait_for_quiet(_FIRST_OUTPUT_TIMEOUT_SECONDS, _START_QUIET_SECONDS)
    text, data = _take_output(terminal)
    return make_success(f"Session started: {terminal.id}\n{text}".rstrip("\n"), data)


def _take_output(terminal: Terminal) -> tuple[str, dict[str, object]]:
    code = terminal.exit_code  # asked first: what it prints before it ends is not missed
    text = terminal.output.take()
    return text, {"session_id": terminal.id, "output": text, "exit_code": code}


_SEND_TIMEOUT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class SendInputArguments:
    r"""What is typed, and where.

    session_id: the session, as start_session named it
    input_text: what to type; \u0003 is Ctrl-C
    enter: press Enter after it, unless it ends with a newline
    """

    session_id: str
    input_text: str
    enter: bool = True


@tool("send_input", ToolPermission.RUNS)
def send_input(arguments: SendInputArguments, context: ToolContext) -> ToolOutcome:
    """Type something into the terminal of a session that start_session began."""
    terminal = context.terminals[arguments.session_id]
    text = arguments.input_text
    is_key = len(text) == 1 and not text.isprintable()
    typed = text if is_key or text.endswith("\n") or not arguments.enter else f"{text}\n"
    terminal.send(typed, min(_SEND_TIMEOUT_SECONDS, context.limits.timeout_seconds))
    return make_success(f"Sent to session {terminal.id}: read_output says what came of it.")


_READ_QUIET_SECONDS = 0.15


@dataclass(frozen=True, slots=True)
class ReadOutputArguments:
    """Of which session, and how long to wait.

    session_id: the session, as start_session named it
    timeout: the most seconds to wait for something
    """

    session_id: str
    timeout: NonNegativeSeconds = 2.0


@tool("read_output", ToolPermission.READS)
def read_output(arguments: ReadOutputArguments, context: ToolContext) -> ToolOutcome:
    """Read what the program of a session has printed since the last time; waits a little for it."""
    terminal = context.terminals[arguments.session_id]
    seconds = min(arguments.timeout, context.limits.command_timeout_seconds)
    terminal.output.wait_for_quiet(seconds, _READ_QUIET_SECONDS)
    text, data = _take_output(terminal)
    if data["exit_code"] is not None:
        text += f"\n[the program has ended with {data['exit_code']}: close the session]"
    return make_success(text.lstrip("\n") or "[no output within timeout]", data)


@dataclass(frozen=True, slots=True)
class CloseSessionArguments:
    """Which one.

    session_id: the session, as start_session named it
    """

    session_id: str


@tool("close_session", ToolPermission.READS)
def close_session(arguments: CloseSessionArguments, context: ToolContext) -> ToolOutcome:
    """End a session: its program and everything that it started."""
    terminal = context.terminals.close(arguments.session_id)
    text, data = _take_output(terminal)
    last_output = f"\nIts last output:\n{text}" if text.strip() else ""
    return make_success(f"Session {terminal.id} closed{last_output}", data)


@dataclass(frozen=True, slots=True)
class ListSessionsArguments:
    """Nothing to say."""


@tool("list_sessions", ToolPermission.READS)
def list_sessions(_: ListSessionsArguments, context: ToolContext) -> ToolOutcome:
    """List the open sessions: which program runs in each, and for how long."""
    terminals = context.terminals.list_open()
    if not terminals:
        return make_success("No active sessions", {"sessions": []})
    data = {"sessions": [terminal.id for terminal in terminals]}
    return make_success("\n".join(terminal.describe() for terminal in terminals), data)
