"""list_sessions: which terminals are open."""

from dataclasses import dataclass

from kernel.agent.context import ToolContext
from kernel.agent.tool import Danger, Outcome, Tool, done


@dataclass(frozen=True, slots=True)
class ListSessions:
    """Nothing to say."""


def _run(_: ListSessions, context: ToolContext) -> Outcome:
    terminals = context.terminals.all()
    if not terminals:
        return done("No active sessions", {"sessions": []})
    data = {"sessions": [terminal.id for terminal in terminals]}
    return done("\n".join(terminal.described() for terminal in terminals), data)


TOOL = Tool(
    name="list_sessions",
    purpose="List the open sessions: which program runs in each, and for how long.",
    arguments=ListSessions,
    danger=Danger.READS,
    run=_run,
)
