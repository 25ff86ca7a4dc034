"""The roots of a client: folders that it works in, asked for after the handshake."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from codekernel.adapters.mcp.protocol import Message, Params
from codekernel.domain.untrusted_text import strip_scheme

# Of the requests that the server sends; a client's own ids are never of this form.
_ID_PREFIX = "codekernel-roots-"

# More folders than a person works in; the rest is ignored.
MAX_ROOTS = 16

Send = Callable[[Message], None]


class RootsFollower:
    """Asks for the roots of a client that has some, again after each change."""

    def __init__(
        self, expect_roots: Callable[[], None], set_roots: Callable[[Sequence[Path]], None]
    ) -> None:
        self._expect_roots = expect_roots
        self._set_roots = set_roots
        self._has_roots = False
        self._number = 0

    def note_initialize(self, params: Params) -> None:
        """Remember whether the client has roots; one that has none works where it was started."""
        capabilities = params.get("capabilities")
        self._has_roots = isinstance(capabilities, dict) and isinstance(
            capabilities.get("roots"), dict
        )
        if not self._has_roots:
            self._set_roots(())

    def note_notification(self, method: str, send: Send) -> None:
        """Ask for the roots when they are there, or have changed."""
        if self._has_roots and method in {
            "notifications/initialized",
            "notifications/roots/list_changed",
        }:
            self._number += 1
            self._expect_roots()
            request_id = f"{_ID_PREFIX}{self._number}"
            send({"jsonrpc": "2.0", "id": request_id, "method": "roots/list"})

    def note_reply(self, reply: Message) -> None:
        """Use the roots that the client has sent."""
        if reply.get("id") == f"{_ID_PREFIX}{self._number}":
            self._set_roots(parse_roots(reply.get("result")))


def parse_roots(result: Any) -> list[Path]:
    """Return the folders of a reply: the repository around each, else the folder itself."""
    roots = result.get("roots") if isinstance(result, dict) else None
    uris = [root.get("uri") for root in roots or () if isinstance(root, dict)]
    paths = [Path(strip_scheme(uri)) for uri in uris if isinstance(uri, str)]
    found = [path for path in paths[:MAX_ROOTS] if path.is_absolute() and path.is_dir()]
    return list(dict.fromkeys(map(_find_repository, found)))


def _find_repository(folder: Path) -> Path:
    above = (folder, *folder.parents)
    return next((each for each in above if (each / ".git").exists()), folder)
