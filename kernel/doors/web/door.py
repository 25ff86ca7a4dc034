"""The door itself: tabs on one side, the kernel's channel on the other."""

from collections.abc import Callable, Mapping

from kernel.doors.web import threads
from kernel.doors.web.exchange import Exchange
from kernel.doors.web.guest import Guest
from kernel.doors.web.host_calls import HostCalls
from kernel.doors.web.save_settings import SettingsDesk
from kernel.doors.web.sessions import LINGER_SECONDS, Sessions
from kernel.storage.user_data import UserData
from kernel.transport.memory import MemoryChannel


class WebDoor:
    """Lets tabs in; ``folder`` is where the person stands, or nothing."""

    def __init__(
        self,
        channel: MemoryChannel,
        user_data: UserData,
        environ: Mapping[str, str],
        folder: str,
        linger_seconds: float = LINGER_SECONDS,
    ) -> None:
        self.exchange = Exchange(channel)
        self.sessions = Sessions(self.exchange, linger_seconds)
        self._host = HostCalls(SettingsDesk(self.exchange, user_data), folder, environ)

    def start(self, on_crash: Callable[[BaseException], object]) -> None:
        """Hear the kernel from now on, until it closes its channel."""
        threads.start("web:kernel", lambda: self.exchange.run(self.sessions.hear), on_crash)

    def admit(self) -> Guest:
        """A new tab."""
        return Guest(self.exchange, self.sessions, self._host)
