"""One short function per message: unpack, call the layer below, present.

Importing this package fills the two routers of context.py: with the handlers that every start
needs, and with the messages whose handlers are imported by the first of them. Modules:

    context.py        services and routers
    kernel.py         the kernel that clients share: start, stop, repositories and sessions
    conversation.py   conversations and turns of the agent
    settings.py       API keys, settings, local models, hardware

and late:

    search.py         search and the state of the index
    tuning.py         weights of the ranking, learned from a repository's own questions
    places.py         the lines of a place, and its calls
    code_queries.py   impact, history of lines, code like a place
    folders.py        choose a folder, and register it; what is in userData
    endpoints.py      chat models behind addresses
    agent_sessions.py  agent sessions that every device sees
"""

from importlib import import_module

from codekernel.dispatch.routing import Lane
from codekernel.handlers import conversation, kernel, settings
from codekernel.handlers.context import FOLLOWING_END, main_router, session_router
from codekernel.protocol.messages import (
    agent_sessions,
    code_queries,
    repos,
    search,
)
from codekernel.protocol.messages import kernel as kernel_messages
from codekernel.protocol.messages import settings as endpoints

__all__ = ["conversation", "kernel", "preload_search", "settings"]

_SEARCH = f"{__name__}.search"
_FOLDERS = f"{__name__}.folders"
_AGENT_SESSIONS = f"{__name__}.agent_sessions"

session_router.expect_late(
    _SEARCH,
    Lane.SESSION,
    search.Search,
    search.FindNames,
    search.GetIndexStatus,
    search.AllowEndpoint,
    search.PauseIndexing,
)
session_router.expect_late(
    _SEARCH,
    Lane.OWN_THREAD,
    search.GetChunksInfo,
    search.GetIndexMap,
    search.GetSkippedFiles,
    search.MeasureEmbedding,
)
main_router.expect_late(_SEARCH, Lane.OWN_THREAD, search.SearchRepos)
session_router.expect_late(f"{__name__}.tuning", Lane.OWN_THREAD, search.TuneRanking)
session_router.expect_late(
    f"{__name__}.places", Lane.OWN_THREAD, repos.ReadLines, code_queries.GetCalls
)
session_router.expect_late(
    f"{__name__}.code_queries",
    Lane.OWN_THREAD,
    code_queries.FindRelated,
    code_queries.GetImpact,
    code_queries.GetLineHistory,
)
main_router.expect_late(
    f"{__name__}.endpoints",
    Lane.OWN_THREAD,
    endpoints.FindLocalServers,
    endpoints.ListEndpointModels,
    endpoints.TestApi,
)
main_router.expect_late(_FOLDERS, Lane.OWN_THREAD, repos.ListFolders, repos.PreviewFolder)
main_router.expect_late(
    _FOLDERS, Lane.OWN_THREAD, kernel_messages.GetIndexes, kernel_messages.CleanIndexes
)
main_router.expect_late(_FOLDERS, Lane.MAIN, repos.RegisterFolder)
main_router.expect_late(
    _AGENT_SESSIONS,
    Lane.OWN_THREAD,
    agent_sessions.AnswerAgentPermission,
    agent_sessions.AskAgentFolder,
    agent_sessions.CancelAgentMessage,
    agent_sessions.DeleteAgentSession,
    agent_sessions.GetAgentMachine,
    agent_sessions.GetAgentPermissions,
    agent_sessions.GetAgentSession,
    agent_sessions.GetAgentSessions,
    agent_sessions.ReadAgentMessages,
    agent_sessions.SendAgentMessage,
    agent_sessions.StartAgentSession,
    agent_sessions.StopAgentTurn,
    agent_sessions.UpdateAgentSession,
)
main_router.expect_late(
    _AGENT_SESSIONS,
    Lane.OWN_THREAD,
    agent_sessions.FollowAgentSessions,
    stream_end=FOLLOWING_END,
    is_endless=True,
)


def preload_search() -> None:
    """Import what the first openRepo and search need, before they arrive."""
    import_module("codekernel.runtime.workspace")
    import_module(_SEARCH)
