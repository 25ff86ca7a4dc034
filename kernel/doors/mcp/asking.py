"""The tool ``ask``: a question to the chat model of the settings, which searches before it answers.

What happens on the way is told as progress; the answer comes whole, with its sources.
"""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from kernel.agent.context import ToolContext
from kernel.agent.tool import Danger, Outcome, Tool, ToolFailed, done
from kernel.domain.cancel import CancelToken
from kernel.domain.turn import Citation, Holds
from kernel.domain.turn import Outcome as Ended
from kernel.domain.turn_events import (
    Annotated as Purpose,
)
from kernel.domain.turn_events import (
    AnswerPart,
    Done,
    Failed,
    Retrieved,
    Searched,
    Shown,
)
from kernel.doors.mcp.reaching import Report
from kernel.errors import Cancelled
from kernel.protocol.tool_arguments import about

if TYPE_CHECKING:  # imported when the first question comes
    from kernel.conversation.talk import Talk

# Begins a turn: question, name of the model or nothing, token. Raises KernelError.
Begin = Callable[[str, str | None, CancelToken], AbstractContextManager["Talk"]]


@dataclass(frozen=True, slots=True)
class Ask:
    """A question about the repository."""

    question: Annotated[str, about("what you want to know about this code, in plain words")]
    model: Annotated[
        str | None, about("the name of a chat model in the settings; else the first one")
    ] = None


def ask_tool(begin: Begin, report: Report) -> Tool[Ask]:
    """The tool, which tells of its progress."""

    def run(arguments: Ask, context: ToolContext) -> Outcome:
        if not arguments.question.strip():
            raise ToolFailed("The question is empty: say what you want to know.")
        turn = _Turn(report)
        with begin(arguments.question, arguments.model, context.cancel) as talk, talk:
            for event in talk.events():
                turn.hear(event)
        return turn.outcome()

    return Tool(
        name="ask",
        purpose=(
            "Have codekernel's own chat model read the code and answer a question, with the lines"
            " it rests on. Slow and costs tokens: prefer search and read where you can read."
        ),
        arguments=Ask,
        danger=Danger.READS,
        run=run,
    )


class _Turn:
    """What has been heard of a turn so far."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._told = 0
        self._answer: list[str] = []
        self._failure = ""
        self._done: Done | None = None

    def hear(self, event: Shown) -> None:
        """Note it, and tell of it."""
        match event:
            case Purpose(purpose):
                self._tell(purpose)
            case Searched(query):
                self._tell(f"searching: {query}")
            case Retrieved(excerpt):
                self._tell(f"reading {excerpt.path}:{excerpt.begin_line + 1}")
            case AnswerPart(text):
                self._answer.append(text)
                self._tell("answering")
            case Failed(_, message):
                self._failure = message
            case Done():
                self._done = event

    def outcome(self) -> Outcome:
        """The answer. Raises ToolFailed, or Cancelled."""
        if self._done is None or self._done.outcome is Ended.STOPPED:
            raise Cancelled("the question was cancelled")
        if self._failure or self._done.outcome is not Ended.DONE:
            raise ToolFailed(self._failure or "The model gave no answer.")
        text = "".join(self._answer).strip()
        sources = "\n".join(_sources(self._done.citations))
        return done(f"{text}\n\nSources:\n{sources}" if sources else text)

    def _tell(self, about_what: str) -> None:
        self._told += 1
        self._report(float(self._told), None, about_what)


def _sources(citations: Iterable[Citation]) -> Iterable[str]:
    places: dict[Any, Citation] = {(one.path, one.begin, one.end): one for one in citations}
    for one in places.values():
        lines = str(one.begin) if one.begin == one.end else f"{one.begin}-{one.end}"
        holds = one.holds.value
        if one.holds is Holds.MOVED:
            holds += f" to {one.now_begin}-{one.now_end}"
        elif one.reason:
            holds += f": {one.reason}"
        yield f"- {one.path}:{lines} {holds}"
