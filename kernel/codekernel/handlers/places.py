"""What is asked about a place in the code: its lines, who calls a definition, what it calls."""

from codekernel.dispatch.routing import Lane
from codekernel.domain.call_graph import CallChainQuery, CallChainSteps
from codekernel.domain.index import detect_language
from codekernel.domain.untrusted_text import resolve_encoded_path
from codekernel.errors import WrongParam
from codekernel.files.reading import read_lines
from codekernel.handlers.context import session_router
from codekernel.protocol.messages.code_queries import (
    CalledDefinition,
    CallEntry,
    CodeDefinition,
    GetCalls,
    GetCallsReply,
)
from codekernel.protocol.messages.repos import ReadLines, ReadLinesReply
from codekernel.runtime.sessions import Session

# A front end waits a minute for a reply; a first question reads the calls of every file.
CALLS_TIMEOUT_SECONDS = 40.0


@session_router.handles(ReadLines, lane=Lane.OWN_THREAD)
def show_lines(message: ReadLines, session: Session) -> ReadLinesReply:
    """Read some lines from the disk."""
    path = resolve_encoded_path(session.repo.path, message.file_path)
    lines = read_lines(session.repo.path, path, message.begin_line, message.end_line)
    return ReadLinesReply(
        content=lines.content,
        begin_line=lines.begin,
        end_line=lines.end,
        line_count=lines.line_count,
        language=detect_language(path),
    )


@session_router.handles(GetCalls, lane=Lane.OWN_THREAD)
def get_calls(message: GetCalls, session: Session) -> GetCallsReply:
    """List the callers and callees of each definition of a name."""
    if not message.symbol.strip():
        raise WrongParam("symbol is empty: say a name, or Class.name")
    question = CallChainQuery(message.symbol.strip())
    call_graph = session.workspace.call_graph()
    answer = call_graph.ask(question, session.cancel, CALLS_TIMEOUT_SECONDS)
    definitions = [
        CalledDefinition(
            place=CodeDefinition.from_node(chain.place),
            callers=_build_entries(chain.callers),
            callees=_build_entries(chain.callees),
            more_callers=_count_missing(chain.callers),
            more_callees=_count_missing(chain.callees),
        )
        for chain in answer.chains
    ]
    return GetCallsReply(definitions, answer.more, answer.behind)


def _build_entries(steps: CallChainSteps | None) -> list[CallEntry]:
    return [
        CallEntry(CodeDefinition.from_node(step.place), list(step.lines), step.certainty)
        for step in (steps.steps if steps else ())
    ]


def _count_missing(steps: CallChainSteps | None) -> int:
    return steps.more + steps.unread if steps else 0
