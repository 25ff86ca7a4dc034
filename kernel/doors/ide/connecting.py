"""The plugin end that dials a backend, and dials again when the connection is lost."""

import logging
import random
import ssl
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from websockets.exceptions import InvalidHandshake, InvalidURI
from websockets.sync.client import connect

from kernel.domain.cancel import CancelToken
from kernel.doors.ide.answering import Answering
from kernel.doors.ide.places import is_loopback
from kernel.errors import WrongParam
from kernel.transport.lines import LINE_LIMIT_BYTES

FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 30.0
OPEN_SECONDS = 10.0
PING_SECONDS = 20.0
POLITE_SECONDS = 1.0

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Address:
    """Where a backend is, with what the document wants in the query."""

    url: str

    @classmethod
    def of(
        cls, url: str, project_key: str, project_path: str, *, anywhere: bool = False
    ) -> "Address":
        """Raises WrongParam for an address that is none, or is not of this machine."""
        parts = urlsplit(url)
        if parts.scheme not in {"ws", "wss"} or not parts.hostname:
            raise WrongParam(f"{url} is no address of a WebSocket: it begins with ws:// or wss://.")
        if not anywhere and not is_loopback(parts.hostname):
            raise WrongParam(
                f"{parts.hostname} is another machine, which could read and change files here."
                " If that is meant, say --anywhere."
            )
        said = dict(parse_qsl(parts.query, keep_blank_values=True))
        said.setdefault("sessionId", str(uuid.uuid4()))
        said.setdefault("projectKey", project_key)
        said.setdefault("projectPath", project_path)
        return cls(urlunsplit(parts._replace(path=parts.path or "/", query=urlencode(said))))

    @property
    def project_key(self) -> str:
        """The name of the project that the backend is told."""
        return dict(parse_qsl(urlsplit(self.url).query)).get("projectKey", "")


class Dialling:
    """Keeps one connection to a backend until it is stopped."""

    def __init__(
        self,
        address: Address,
        answering: Answering,
        token: str = "",
        say: Callable[[str], None] = logger.info,
    ) -> None:
        self._address = address
        self._answering = answering
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._say = say

    def run(self, stop: CancelToken) -> None:
        """Connect, answer, and connect again, with a longer pause after each failure."""
        pause = FIRST_PAUSE_SECONDS
        while True:
            heard, reason = self._once(stop)
            if stop.cancelled:
                return
            # A backend that accepts and hangs up at once is as good as none.
            pause = FIRST_PAUSE_SECONDS if heard else pause
            self._say(f"{reason}; trying again in {pause:.1f} s")
            stop.wait(pause * random.uniform(0.8, 1.2))  # noqa: S311 - so that not all come at once
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)

    def _once(self, stop: CancelToken) -> tuple[int, str]:
        """One connection: how many messages came, and why it ended."""
        try:
            with (
                connect(
                    self._address.url,
                    additional_headers=self._headers,
                    compression=None,
                    proxy=None,  # the backend is near
                    open_timeout=OPEN_SECONDS,
                    ping_interval=PING_SECONDS,
                    ping_timeout=PING_SECONDS,
                    close_timeout=POLITE_SECONDS,
                    max_size=LINE_LIMIT_BYTES,
                    user_agent_header="codekernel",
                    legacy=True,
                ) as connection,
                stop.telling(connection.close_socket),
            ):
                self._say("connected")
                return self._answering.serve(connection), "the connection was closed"
        except InvalidURI as error:
            raise WrongParam(str(error)) from error
        except InvalidHandshake as error:
            return 0, f"the backend refused: {error}"
        except ssl.SSLError as error:
            return 0, f"the backend's certificate is not good: {error.reason}"
        except (OSError, EOFError) as error:
            return 0, f"the backend cannot be reached: {error}"
