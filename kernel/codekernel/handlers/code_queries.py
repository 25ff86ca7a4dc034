"""Impact of a change, history of lines, and code like a place."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from codekernel.agent.change_impact import DEFAULT_IMPACT_DEPTH, find_impact
from codekernel.agent.code_queries import RepositoryContext, find_history, parse_place
from codekernel.agent.tool_policy import ToolError
from codekernel.agent.workspace.root import WorkspaceRoot
from codekernel.callgraph.test_ranking import UNSEEN, RankedTest, ReachedDefinition
from codekernel.dispatch.routing import Lane
from codekernel.domain.index import Hit
from codekernel.domain.untrusted_text import encode_path
from codekernel.errors import WrongParam
from codekernel.handlers.context import session_router
from codekernel.protocol.messages.code_queries import (
    CodeDefinition,
    FindRelated,
    FindRelatedReply,
    GetImpact,
    GetImpactReply,
    GetLineHistory,
    GetLineHistoryReply,
    LineCommitEntry,
    ReachedEntry,
    ReachedTest,
)
from codekernel.runtime.sessions import Session
from codekernel.search.highlight import Highlighter, build_search_result
from codekernel.search.line_history import DEFAULT_COMMITS


@session_router.handles(GetImpact, lane=Lane.OWN_THREAD)
def get_impact(message: GetImpact, session: Session) -> GetImpactReply:
    """Follow the callers of what changes."""
    depth = message.depth or DEFAULT_IMPACT_DEPTH
    with _explain_refusals():
        impact = find_impact([message.place], depth, _build_context(session))
    return GetImpactReply(
        changed=list(map(CodeDefinition.from_node, impact.changed)),
        callers=list(map(_describe_caller, impact.callers)),
        tests=list(map(_describe_test, impact.tests)),
        weak_tests=len(impact.weak_tests),
        depth=depth,
        left_out=impact.left_out,
        behind=impact.behind,
        unseen=UNSEEN,
    )


def _describe_caller(each: ReachedDefinition) -> ReachedEntry:
    return ReachedEntry(**_describe_reached(each))


def _describe_test(each: RankedTest) -> ReachedTest:
    score, reasons = round(each.score, 3), list(each.reasons)
    return ReachedTest(**_describe_reached(each), score=score, reasons=reasons)


def _describe_reached(each: ReachedDefinition | RankedTest) -> dict[str, Any]:
    """Return the fields that a caller and a test have in common."""
    place = each.place
    return {
        "name": place.name,
        "kind": place.kind,
        "file_path": encode_path(place.path),
        "first_line": place.first_line,
        "last_line": place.last_line,
        "distance": each.distance,
        "certainty": each.certainty,
    }


@session_router.handles(GetLineHistory, lane=Lane.OWN_THREAD)
def get_line_history(message: GetLineHistory, session: Session) -> GetLineHistoryReply:
    """Read the commits behind a place."""
    with _explain_refusals():
        place, history = find_history(
            message.place,
            _build_context(session),
            message.limit or DEFAULT_COMMITS,
        )
    return GetLineHistoryReply(
        file_path=encode_path(place.path),
        first_line=place.first_line,
        last_line=place.last_line,
        commits=[
            LineCommitEntry(
                id=each.id,
                date=each.date,
                author=each.author,
                subject=each.subject,
                body=each.body,
                lines=list(each.lines),
            )
            for each in history.commits
        ],
        has_more=history.has_more,
        uncommitted=list(history.uncommitted),
        remarks=list(history.remarks),
    )


@session_router.handles(FindRelated, lane=Lane.OWN_THREAD)
def find_related(message: FindRelated, session: Session) -> FindRelatedReply:
    """Rank the code that is like a place."""
    limit = message.limit or session.services.settings.current.search_limit
    with _explain_refusals():
        place = parse_place(message.place, _build_context(session))
    hits = session.workspace.searcher.find_related(place.path, max(1, place.first_line), limit)
    highlight = Highlighter([])
    return FindRelatedReply(
        results=[build_search_result(hit, highlight, explain=False) for hit in hits]
    )


def _build_context(session: Session) -> RepositoryContext:
    """Return the repository as a question about its code needs it."""
    workspace, cancel = session.workspace, session.cancel

    def search(query: str, limit: int) -> list[Hit]:
        return workspace.searcher.run_search(query, limit, cancel, accuracy=False).hits

    root = WorkspaceRoot.from_path(session.repo.path)
    return RepositoryContext(root, search, workspace.ask_calls, cancel)


@contextmanager
def _explain_refusals() -> Iterator[None]:
    try:
        yield
    except ToolError as error:
        raise WrongParam(str(error)) from None
