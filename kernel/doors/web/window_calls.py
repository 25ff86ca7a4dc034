"""What a tab may ask for; anything else stays behind the door.

As for the windows of the desktop app (``electron-bridge/src/window_calls.js``), all kinds together:
pages of one origin cannot be kept from each other. Never getApiKey, for a page needs no key back,
and never stopAll.
"""

from typing import Any

from kernel.doors.web.exchange import Exchange
from kernel.doors.web.failures import CallFailed
from kernel.protocol.envelope import MAIN_SESSION_ID

# Settings, keys, the list of repositories.
HOUSE_CALLS = frozenset(
    {
        "getRepos",
        "createRepo",
        "deleteRepo",
        "checkSettings",
        "updateSettings",
        "getSettings",
        "getModels",
        "getGenerationModels",
        "getAvailableHardware",
        "setApiKey",
        "testApi",
    }
)
# One repository. Which session is meant is known from the tab, never from the page.
SESSION_CALLS = frozenset(
    {
        "search",
        "getChunksInfo",
        "getIndexStatus",
        "getSkippedFiles",
        "pauseIndexing",
        "getApiUsage",
        "getConversations",
        "getConversation",
        "deleteConversation",
        "answerPermission",
        "undoAgentTurn",
        "readLines",
    }
)
# These take more than one request, or none.
OWN_CALLS = frozenset({"openRepo", "closeRepo", "hasApiKey", "converse"})
# Their answer may be too long for memory; they have no fields (see exchange.LongData).
WITHOUT_FIELDS = frozenset({"getChunksInfo"})


def has_api_key(exchange: Exchange, name: object) -> bool:
    """Whether a key is stored under this name; the key itself stays here."""
    try:
        exchange.ask(MAIN_SESSION_ID, "getApiKey", {"name": name})
    except CallFailed as error:
        if error.code == "API_KEY_NOT_FOUND":
            return False
        raise
    return True


def checked(fields: object) -> dict[str, Any]:
    """The fields of a call; raises CallFailed."""
    if fields is None:
        return {}
    if not isinstance(fields, dict):
        raise CallFailed("WRONG_PARAM", "The fields of a request are an object.")
    return fields
