"""call_chain as document 002 has it: who calls a method, and what it calls, to any depth."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from kernel.agent.call_chain_text import described, nothing_found, shown
from kernel.agent.context import ToolContext
from kernel.agent.tool import Danger, Outcome, Tool, ToolFailed, done
from kernel.domain.call_chain import DEEPEST, ChainQuestion, Direction
from kernel.protocol.tool_arguments import about


@dataclass(frozen=True, slots=True)
class CallChain:
    """Of what, which way, and how far."""

    method: Annotated[str, about("ClassName.methodName, or the name of a function or class")]
    direction: Annotated[Direction, about("callers, callees or both")] = Direction.BOTH
    depth: Annotated[int, about("how many calls far", least=1, most=DEEPEST)] = 1
    include_source: Annotated[bool, about("with the text of each definition")] = False

    ALIASES: ClassVar[Mapping[str, str]] = {"name": "method", "symbol": "method"}


def _run(arguments: CallChain, context: ToolContext) -> Outcome:
    if context.calls is None:
        raise ToolFailed("There is no index to follow calls in here: use search_context.")
    if not arguments.method.strip():
        raise ToolFailed("The method is empty: say ClassName.methodName, or a name.")
    question = ChainQuestion(
        arguments.method.strip(), arguments.direction, arguments.depth, arguments.include_source
    )
    answer = context.calls(question, context.cancel, context.limits.seconds)
    if not answer.chains:
        raise ToolFailed(nothing_found(answer), described(answer))
    return done(shown(answer), described(answer))


TOOL = Tool(
    name="call_chain",
    purpose=(
        "Who calls a function or method, and what it calls, over the whole repository. Each call"
        " says how sure it is: certain, likely (by name alone, but only one fits), possible."
    ),
    arguments=CallChain,
    danger=Danger.READS,
    run=_run,
)
