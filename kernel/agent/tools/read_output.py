"""read_output: what the program of a session has said since the last time."""

from dataclasses import dataclass
from typing import Annotated

from kernel.agent.context import ToolContext
from kernel.agent.terminal_output import readable
from kernel.agent.tool import Danger, Outcome, Tool, done
from kernel.protocol.tool_arguments import Seconds, about

_QUIET_SECONDS = 0.15


@dataclass(frozen=True, slots=True)
class ReadOutput:
    """Of which session, and how long to wait."""

    session_id: Annotated[str, about("the session, as start_session named it")]
    timeout: Annotated[Seconds, about("the most seconds to wait for something")] = 2.0


def _run(arguments: ReadOutput, context: ToolContext) -> Outcome:
    terminal = context.terminals[arguments.session_id]
    seconds = min(arguments.timeout, context.limits.command_seconds)
    terminal.output.wait_for_quiet(seconds, _QUIET_SECONDS)
    code = terminal.exit_code
    text = readable(terminal.output.taken())
    data = {"session_id": terminal.id, "output": text, "exit_code": code}
    if code is not None:
        text += f"\n[the program has ended with {code}: close the session]"
    return done(text.lstrip("\n") or "[no output within timeout]", data)


TOOL = Tool(
    name="read_output",
    purpose=(
        "Read what the program of a session has printed since the last time; waits a little for it."
    ),
    arguments=ReadOutput,
    danger=Danger.READS,
    run=_run,
)
