"""run_command: a command line in the repository, with a time limit, and the end of what it says."""

import subprocess
import threading
import time
from dataclasses import dataclass
from typing import Annotated

from kernel.agent.context import ToolContext
from kernel.agent.processes import end_group, end_rest_of_group, shell_words, start
from kernel.agent.running_folder import folder_to_run_in
from kernel.agent.terminal_output import TerminalOutput, readable
from kernel.agent.tool import Danger, Outcome, Tool, ToolFailed, done, failed
from kernel.errors import Cancelled
from kernel.protocol.tool_arguments import Seconds, about

_BLOCK_BYTES = 65_536
_LOOK_SECONDS = 0.05
# What the command left running may still hold its output open; it is ended after that.
_LAST_WORDS_SECONDS = 0.3
# A command that floods is read at 60 MB a second at the most, so that it leaves us some processor.
_PAUSE_WHEN_FULL_SECONDS = 0.001


@dataclass(frozen=True, slots=True)
class RunCommand:
    """What to run, where, and for how long."""

    command: Annotated[str, about("a command line for the shell")]
    timeout: Annotated[Seconds | None, about("the most seconds it may take; then it is ended")] = (
        None
    )
    cwd: Annotated[str, about("the folder it runs in")] = "."


def _run(arguments: RunCommand, context: ToolContext) -> Outcome:
    if not arguments.command.strip() or "\0" in arguments.command:
        raise ToolFailed("The command is empty, or has a NUL character in it.")
    limits = context.limits
    seconds = min(arguments.timeout or limits.command_seconds, limits.most_command_seconds)
    with folder_to_run_in(context.root, arguments.cwd) as folder:
        process = start(shell_words(arguments.command), folder)
    output = TerminalOutput(limits.command_characters)
    threading.Thread(target=_listen, args=(process, output), name="command", daemon=True).start()
    try:
        in_time = _wait(process, output, seconds, context)
    except BaseException:
        end_group(process)
        raise
    if not in_time:
        end_group(process)
    output.wait_for_end(_LAST_WORDS_SECONDS)
    return _said(readable(output.taken()), process.poll(), None if in_time else seconds)


def _wait(
    process: "subprocess.Popen[bytes]", output: TerminalOutput, seconds: float, context: ToolContext
) -> bool:
    """Whether the command ended in time; what it left running is ended then."""
    deadline = time.monotonic() + seconds
    while process.poll() is None:
        if context.cancel.cancelled:
            raise Cancelled("the command was cancelled")
        if time.monotonic() >= deadline:
            return False
        try:
            process.wait(_LOOK_SECONDS)
        except subprocess.TimeoutExpired:
            continue
    if not output.wait_for_end(_LAST_WORDS_SECONDS):
        end_rest_of_group(process)
    return True


def _listen(process: "subprocess.Popen[bytes]", output: TerminalOutput) -> None:
    pipe = process.stdout
    if pipe is not None:
        with pipe:
            while data := pipe.read1(_BLOCK_BYTES):  # type: ignore[attr-defined]
                output.write(data)
                if output.is_full:
                    time.sleep(_PAUSE_WHEN_FULL_SECONDS)
    output.end()


def _said(text: str, code: int | None, ended_after: float | None) -> Outcome:
    data = {"output": text, "exit_code": code, "timed_out": ended_after is not None}
    said = text if not text or text.endswith("\n") else f"{text}\n"
    if ended_after is not None:
        return failed(f"{said}[ended after {ended_after:g} seconds, its time limit]", data)
    if code:
        return failed(f"{said}[exit code {code}]", data)
    return done(text or "[no output]", data)


TOOL = Tool(
    name="run_command",
    purpose=(
        "Run a shell command in the repository and get what it prints, the end of it if that is"
        " much. It cannot be typed to: use start_session for that."
    ),
    arguments=RunCommand,
    danger=Danger.RUNS,
    run=_run,
)
