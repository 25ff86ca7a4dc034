"""close_session: end the program of a session, and everything that it started."""

from dataclasses import dataclass
from typing import Annotated

from kernel.agent.context import ToolContext
from kernel.agent.terminal_output import readable
from kernel.agent.tool import Danger, Outcome, Tool, done
from kernel.protocol.tool_arguments import about


@dataclass(frozen=True, slots=True)
class CloseSession:
    """Which one."""

    session_id: Annotated[str, about("the session, as start_session named it")]


def _run(arguments: CloseSession, context: ToolContext) -> Outcome:
    terminal = context.terminals.close(arguments.session_id)
    text = readable(terminal.output.taken())
    said = f"\nIts last output:\n{text}" if text.strip() else ""
    data = {"session_id": terminal.id, "output": text, "exit_code": terminal.exit_code}
    return done(f"Session {terminal.id} closed{said}", data)


TOOL = Tool(
    name="close_session",
    purpose="End a session: its program and everything that it started.",
    arguments=CloseSession,
    danger=Danger.READS,
    run=_run,
)
