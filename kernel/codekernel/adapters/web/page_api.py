"""Declare what a page may call, and the tables that both hosts of the pages share.

The web host uses these values; `scripts/make_bridge_types.py` writes them into the Electron host,
its preload script, the pages and their TypeScript types. A test fails when a file is out of date.
"""

from dataclasses import dataclass
from enum import Enum


class CallTarget(Enum):
    """Who answers a call."""

    KERNEL = "kernel"  # forwarded as a request of the main process
    SESSION = "session"  # forwarded to the session of the window, which the page never names
    BRIDGE = "bridge"  # takes more than one request
    HOST = "host"  # takes none; made through `window.kernel.host`


class PageKind(Enum):
    """The kinds of page: the repository list and the settings, or one repository."""

    MAIN = "main"
    REPOSITORY = "repository"


@dataclass(frozen=True, slots=True)
class PageCall:
    """A call that pages of some kinds may make."""

    name: str
    target: CallTarget
    pages: tuple[PageKind, ...]


_MAIN = (PageKind.MAIN,)
_REPOSITORY = (PageKind.REPOSITORY,)
_ALL = (PageKind.MAIN, PageKind.REPOSITORY)

# Never getApiKey (no page needs a key back), and nothing that stops the kernel.
_CALLS = {
    (CallTarget.KERNEL, _MAIN): (
        "getRepos createRepo registerFolder deleteRepo listFolders previewFolder getSettings"
        " checkSettings updateSettings getModels getAvailableHardware setApiKey testApi"
        " getModelPresets listEndpointModels findLocalServers"
    ),
    (CallTarget.KERNEL, _ALL): (
        "getGenerationModels getIndexes getKernelStatus getRunningTurns searchRepos"
    ),
    (CallTarget.BRIDGE, _MAIN): "hasApiKey",
    (CallTarget.BRIDGE, _REPOSITORY): "openRepo closeRepo converse",
    (CallTarget.SESSION, _REPOSITORY): (
        "search findNames getCalls getImpact getLineHistory getChunksInfo getIndexStatus"
        " allowEndpoint getIndexMap pauseIndexing"
        " getSkippedFiles readLines getApiUsage getConversations getConversation"
        " deleteConversation answerPermission undoAgentTurn getPermissionRules"
        " deletePermissionRule forkConversation"
    ),
    (CallTarget.HOST, _ALL): (
        "hostInfo chooseFolder saveSettings openInEditor openWindow copyText showProgress"
        " restartKernel"
    ),
}

PAGE_CALLS = tuple(
    PageCall(name, target, pages)
    for (target, pages), names in _CALLS.items()
    for name in names.split()
)

CALL_TARGETS = {call.name: call.target for call in PAGE_CALLS}

# What `window.kernel.on` takes.
PAGE_EVENTS = (
    "embeddingStatus",
    "kernelState",
    "placeRequested",
    "reposChanged",
    "sessionPrepared",
    "sessionCrashed",
    "sessionLost",
)

# More than a person can read at a time.
MAX_CONVERSATIONS = 8

# Repositories that a window keeps open, to come back to them at once; the one that it has not shown
# for longest is closed when there are more. An open one costs memory and watches its files.
MAX_REPOSITORIES = 3

# A person sees no faster; a first indexing run reports thousands of files a second.
STATUS_FLUSH_INTERVAL_MS = 50

# A crash that repeats itself at once is seldom cured by a fourth attempt; what ran for a minute
# crashed for a reason of its own, not because it was started.
MAX_CONSECUTIVE_RESTARTS = 3
STABLE_AFTER_SECONDS = 60

# Front ends of this protocol wait so long for a reply.
CALL_TIMEOUT_SECONDS = 60
# These read a whole repository: the first question about impact the calls of every file, the other
# one all chunks, and its reply alone may be hundreds of megabytes.
SLOW_CALL_TIMEOUT_SECONDS = {"getChunksInfo": 600, "getImpact": 300}

# Pages get scripts and styles of their own only, and talk to nothing but their host. `blob:` and
# `data:` images are for charts and icons that a page draws itself.
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
    "font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; object-src 'none'"
)

# Files with another suffix are not served.
MIME_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json; charset=utf-8",
    ".webmanifest": "application/manifest+json",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".woff2": "font/woff2",
}

_GOTO = ("--goto", "{file}:{line}")
_COLON = ("{file}:{line}",)
_LINE_OPTION = ("--line", "{line}", "{file}")
_PLUS = ("+{line}", "{file}")

# Program -> its arguments, in the order in which editors are looked for. Only editors with a window
# of their own: there is no terminal to show another one in.
EDITORS = {
    **dict.fromkeys(("code", "cursor", "windsurf", "code-insiders", "codium"), _GOTO),
    **dict.fromkeys(("zed", "zeditor", "subl"), _COLON),
    **dict.fromkeys(
        ("idea", "pycharm", "webstorm", "goland", "clion", "rustrover", "phpstorm"), _LINE_OPTION
    ),
    **dict.fromkeys(("rubymine", "rider", "kate", "mate"), _LINE_OPTION),
    **dict.fromkeys(("bbedit", "gvim", "gedit", "gnome-text-editor", "xed"), _PLUS),
    "notepad++": ("-n{line}", "{file}"),
}

# A .cmd cannot be started without a shell, which would read file names as commands; the program
# itself lies beside the folder that has it.
WINDOWS_PROGRAMS = {
    "code": "Code.exe",
    "cursor": "Cursor.exe",
    "windsurf": "Windsurf.exe",
    "code-insiders": "Code - Insiders.exe",
    "codium": "VSCodium.exe",
}
