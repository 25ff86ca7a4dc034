"""A repository that is open for one tab, through its crashes until it is closed."""

import time
from dataclasses import dataclass
from enum import Enum
from typing import Any, Protocol

from kernel.doors.web.failures import CallFailed, plain

# As for a window of the desktop app (electron-bridge/src/restarts.js): a crash that repeats itself
# at once is seldom cured by a fourth attempt; what ran for so long crashed for a reason of its own.
MOST_REOPENED_IN_A_ROW = 3
CALM_AFTER_SECONDS = 60.0


class State(Enum):
    """Where a session is; pages know these words."""

    OPENING = "opening"
    PREPARED = "prepared"
    CRASHED = "crashed"
    LOST = "lost"
    CLOSED = "closed"


class Owner(Protocol):
    """The tab that a session belongs to."""

    def tell(self, event: dict[str, Any]) -> None:
        """Say what happened; never waits."""

    def tell_status(self, message: dict[str, Any]) -> None:
        """Say how far a file is; never waits."""


@dataclass(eq=False, slots=True)
class RepoSession:
    """What is known of it; ``sessions.py`` guards it."""

    id: int
    repo_name: str
    owner: Owner | None
    path: str = ""
    state: State = State.OPENING
    reopened: int = 0
    prepared_at: float | None = None

    def described(self) -> dict[str, str]:
        """What openRepo answers a page."""
        return {"repoName": self.repo_name, "path": self.path, "state": self.state.value}

    def prepared(self, path: str) -> None:
        """It answers from now on."""
        self.path, self.state = path, State.PREPARED
        self.prepared_at = time.monotonic()

    def crashed(self) -> bool:
        """It is gone; whether it is worth opening again."""
        calm = self.prepared_at and time.monotonic() - self.prepared_at >= CALM_AFTER_SECONDS
        self.reopened = 0 if calm else self.reopened
        self.prepared_at = None
        again = self.owner is not None and self.reopened < MOST_REOPENED_IN_A_ROW
        self.reopened += 1
        self.state = State.CRASHED if again else State.LOST
        return again

    def tell(self, event_type: str, reason: CallFailed | None = None) -> None:
        """Tell the tab, if there is one."""
        if self.owner is not None:
            failure = {"failure": plain(reason)} if reason else {}
            self.owner.tell({"type": event_type, **failure})
