"""The settings in force: read at start-up, replaced whole when the front end says so."""

import logging
import os
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from kernel.domain.settings import Settings
from kernel.settings.box import default_settings
from kernel.settings.circumstances import HasKey, ReadHardware
from kernel.settings.reading import check, is_sure_of_index, load, needs, warnings_of

logger = logging.getLogger(__name__)

Listener = Callable[[Settings], object]


class LiveSettings:
    """One value for the whole kernel; any thread may read, update or listen.

    ``_state`` guards the value and the listeners and is never held while a listener runs.
    ``_updating`` lets one update at a time read, swap and tell, so that listeners hear in order;
    it is reentrant because a listener may itself ask for an update.
    """

    def __init__(
        self,
        path_of_settings: Path,
        path_of_modified: Path,
        has_key: HasKey,
        hardware: ReadHardware,
    ) -> None:
        self._path_of_settings = path_of_settings
        self._path_of_modified = path_of_modified
        self._has_key = has_key
        self._hardware = hardware
        self._current = default_settings()
        self._certain = False
        self._trouble = ""
        self._listeners: dict[object, Listener] = {}
        self._state = threading.Lock()
        self._updating = threading.RLock()

    @property
    def current(self) -> Settings:
        """The settings in force; the defaults before ``load``."""
        with self._state:
            return self._current

    @property
    def certain(self) -> bool:
        """Whether they come from the file; false while the defaults stand in for a broken one."""
        with self._state:
            return self._certain

    @property
    def trouble(self) -> str:
        """Why a settings.json that is there is not in force since the start; mostly empty."""
        with self._state:
            return self._trouble

    def load(self) -> list[str]:
        """Read settings.json at start-up, whatever state it is in; the warnings are logged too."""
        with self._updating:
            settings, warnings = load(self._path_of_settings)
            written = os.path.lexists(self._path_of_settings)  # a link that leads nowhere, too
            with self._state:
                self._current = settings
                self._certain = is_sure_of_index(self._path_of_settings)
                self._trouble = "; ".join(warnings) if written else ""
        if not written:  # as on every first start
            logger.info("there is no settings.json yet; the defaults are in force")
            return warnings
        return _logged(warnings)

    def warn_of_needs(self) -> list[str]:
        """Say what settings.json asks for and the machine does not offer; slow, changes nothing."""
        return _logged(
            [
                *needs(self._path_of_settings, has_key=self._has_key, hardware=self._hardware),
                *self.warnings(),
            ]
        )

    def warnings(self) -> list[str]:
        """What settings.json may ask for and a person should know of."""
        return warnings_of(self._path_of_settings, has_key=self._has_key)

    def check_modified(self) -> list[str]:
        """Check settings-modified.json and change nothing; what a person should know of it.

        Raises ``InvalidSettings``.
        """
        check(self._path_of_modified, has_key=self._has_key, hardware=self._hardware)
        return warnings_of(self._path_of_modified, has_key=self._has_key)

    def update(self) -> list[str]:
        """Put settings.json in force and tell every listener, even if one of them fails.

        Returns what a person should know of them. Raises ``InvalidSettings``, and then the old
        settings stay in force.
        """
        with self._updating:
            settings = check(self._path_of_settings, has_key=self._has_key, hardware=self._hardware)
            with self._state:
                self._current = settings
                self._certain = True
                self._trouble = ""
                listeners = list(self._listeners.items())
            with ExitStack() as telling:
                for token, listener in reversed(listeners):
                    telling.callback(self._tell, token, listener, settings)
        return _logged(self.warnings())

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Have ``listener`` called with the new settings after each update; returns the way out."""
        token = object()
        with self._state:
            self._listeners[token] = listener

        def unsubscribe() -> None:
            with self._state:
                self._listeners.pop(token, None)

        return unsubscribe

    def _tell(self, token: object, listener: Listener, settings: Settings) -> None:
        with self._state:
            # A listener before this one may have updated again, or sent this one away.
            outdated = self._current is not settings or token not in self._listeners
        if not outdated:
            listener(settings)


def _logged(warnings: list[str]) -> list[str]:
    for warning in warnings:
        logger.warning("%s", warning)
    return warnings
