"""send_input: type into the terminal of a session."""

from dataclasses import dataclass
from typing import Annotated

from kernel.agent.context import ToolContext
from kernel.agent.tool import Danger, Outcome, Tool, done
from kernel.protocol.tool_arguments import about

_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class SendInput:
    """What is typed, and where."""

    session_id: Annotated[str, about("the session, as start_session named it")]
    input_text: Annotated[str, about("what to type; \\u0003 is Ctrl-C")]
    enter: Annotated[bool, about("press Enter after it, unless it ends with a newline")] = True


def _run(arguments: SendInput, context: ToolContext) -> Outcome:
    terminal = context.terminals[arguments.session_id]
    text = arguments.input_text
    is_key = len(text) == 1 and not text.isprintable()
    typed = text if is_key or text.endswith("\n") or not arguments.enter else f"{text}\n"
    terminal.send(typed, min(_SECONDS, context.limits.seconds))
    return done(f"Sent to session {terminal.id}: read_output says what came of it.")


TOOL = Tool(
    name="send_input",
    purpose="Type something into the terminal of a session that start_session began.",
    arguments=SendInput,
    danger=Danger.RUNS,
    run=_run,
)
