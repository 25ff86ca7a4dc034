"""The tool ``ask``: a conversation turn, with its progress, answer and sources."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, ClassVar

from codekernel.agent.tool import Tool, ToolContext, ToolOutcome, make_success
from codekernel.agent.tool_policy import ToolError, ToolPermission
from codekernel.domain import turn_events as happened
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.progress import ProgressCallback
from codekernel.domain.turn import Citation, CitationState, TurnOutcome
from codekernel.domain.turn_events import ShownEvent, TurnDone
from codekernel.errors import Cancelled

if TYPE_CHECKING:  # imported with the first question
    from codekernel.conversation.turn import RunningQuestionTurn

# Begins a turn: question, name of the chat model if one is given, cancel token. Raises KernelError.
TurnStarter = Callable[
    [str, str | None, CancelToken], AbstractContextManager["RunningQuestionTurn"]
]


@dataclass(frozen=True, slots=True)
class AskArguments:
    """A question about the repository.

    model: a chat model of the settings; else the first one
    """

    question: str
    model: str | None = None

    ALIASES: ClassVar[Mapping[str, str]] = {"query": "question"}


def make_ask_tool(start_turn: TurnStarter, report: ProgressCallback) -> Tool[AskArguments]:
    """Return the tool ``ask``, which reports its progress."""

    def run(arguments: AskArguments, context: ToolContext) -> ToolOutcome:
        if not arguments.question.strip():
            raise ToolError("The question is empty: say what you want to know.")
        events: list[ShownEvent] = []
        steps = count(1)
        with start_turn(arguments.question, arguments.model, context.cancel) as turn, turn:
            for event in turn.stream_events():
                events.append(event)
                if step := _describe_step(event):
                    report(float(next(steps)), None, step)
        return _build_answer(events)

    return Tool(
        name="ask",
        description=(
            "Have codekernel's own chat model answer a question about the code, with sources. Slow,"
            " costs money: prefer search and read."
        ),
        arguments=AskArguments,
        permission=ToolPermission.READS,
        run=run,
    )


def _describe_step(event: ShownEvent) -> str:
    """Return what is reported of an event; nothing for some."""
    match event:
        case happened.RetrievalAnnotated(purpose):
            return purpose
        case happened.SearchIssued(query):
            return f"searching: {query}"
        case happened.ExcerptRetrieved(excerpt):
            return f"reading {excerpt.path}:{excerpt.begin_line + 1}"
        case happened.AnswerDelta():
            return "answering"
        case _:
            return ""


def _build_answer(events: Sequence[ShownEvent]) -> ToolOutcome:
    """Return the answer with its sources. Raises ToolError or Cancelled."""
    done = next((event for event in events if isinstance(event, TurnDone)), None)
    failures = [event.message for event in events if isinstance(event, happened.TurnFailed)]
    if done is None or done.outcome is TurnOutcome.STOPPED:
        raise Cancelled("the question was cancelled")
    if failures or done.outcome is not TurnOutcome.DONE:
        raise ToolError(failures[-1] if failures else "The model gave no answer.")
    texts = (event.text for event in events if isinstance(event, happened.AnswerDelta))
    text, sources = "".join(texts).strip(), "\n".join(_format_sources(done.citations))
    return make_success(f"{text}\n\nSources:\n{sources}" if sources else text)


def _format_sources(citations: Iterable[Citation]) -> Iterable[str]:
    unique = {(each.path, each.begin, each.end): each for each in citations}
    for each in unique.values():
        lines = str(each.begin) if each.begin == each.end else f"{each.begin}-{each.end}"
        state = each.holds.value
        if each.holds is CitationState.MOVED:
            state += f" to {each.now_begin}-{each.now_end}"
        elif each.reason:
            state += f": {each.reason}"
        yield f"- {each.path}:{lines} {state}"
