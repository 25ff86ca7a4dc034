"""start_session: a program in a terminal of its own, to be talked to by the other session tools."""

from dataclasses import dataclass
from typing import Annotated

from kernel.agent.context import ToolContext
from kernel.agent.running_folder import folder_to_run_in
from kernel.agent.terminal_output import readable
from kernel.agent.tool import Danger, Outcome, Tool, ToolFailed, done
from kernel.protocol.tool_arguments import about

# A prompt is shown within this time by most programs.
_FIRST_WORDS_SECONDS = 1.0
_QUIET_SECONDS = 0.15


@dataclass(frozen=True, slots=True)
class StartSession:
    """What runs, and where."""

    command: Annotated[str, about("the program to talk to: bash, python3, ssh host, npm run dev")]
    cwd: Annotated[str, about("the folder it runs in")] = "."


def _run(arguments: StartSession, context: ToolContext) -> Outcome:
    if not arguments.command.strip() or "\0" in arguments.command:
        raise ToolFailed("The command is empty, or has a NUL character in it.")
    limits = context.limits
    with folder_to_run_in(context.root, arguments.cwd) as folder:
        terminal = context.terminals.start(
            arguments.command, folder, limits.command_characters, limits.terminals
        )
    terminal.output.wait_for_quiet(_FIRST_WORDS_SECONDS, _QUIET_SECONDS)
    text = readable(terminal.output.taken())
    data = {"session_id": terminal.id, "output": text, "exit_code": terminal.exit_code}
    return done(f"Session started: {terminal.id}\n{text}".rstrip("\n"), data)


TOOL = Tool(
    name="start_session",
    purpose=(
        "Start a program that stays open in a terminal: a shell, an interpreter, a server. Gives a"
        " session id for send_input, read_output and close_session."
    ),
    arguments=StartSession,
    danger=Danger.RUNS,
    run=_run,
)
