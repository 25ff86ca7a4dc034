"""The settings in force.

Loaded at start-up, replaced as a whole when the front end says so, with listeners that are
notified of each change.
"""

import logging
import os
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from codekernel.domain.settings import Settings
from codekernel.settings.loading import (
    check_settings_file,
    has_explicit_index_settings,
    list_endpoint_warnings,
    list_unmet_requirements,
    load_settings_file,
)
from codekernel.settings.local_models import build_default_settings
from codekernel.settings.validation import DetectHardware, HasApiKey

logger = logging.getLogger(__name__)

SettingsListener = Callable[[Settings], object]


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
        has_key: HasApiKey,
        hardware: DetectHardware,
    ) -> None:
        self._path_of_settings = path_of_settings
        self._path_of_modified = path_of_modified
        self._has_key = has_key
        self._hardware = hardware
        self._current = build_default_settings()
        self._is_certain = False
        self._load_error = ""
        self._listeners: dict[object, SettingsListener] = {}
        self._state_lock = threading.Lock()
        self._update_lock = threading.RLock()

    @property
    def current(self) -> Settings:
        """The settings in force; the defaults before ``load``."""
        with self._state_lock:
            return self._current

    @property
    def is_certain(self) -> bool:
        """Whether they come from the file; false while the defaults stand in for a broken one."""
        with self._state_lock:
            return self._is_certain

    @property
    def load_error(self) -> str:
        """Why a settings.json that is there is not in force since the start; mostly empty."""
        with self._state_lock:
            return self._load_error

    def load(self) -> list[str]:
        """Read settings.json at start-up, whatever state it is in; the warnings are logged too."""
        with self._update_lock:
            settings, warnings = load_settings_file(self._path_of_settings)
            written = os.path.lexists(self._path_of_settings)  # a link that leads nowhere, too
            with self._state_lock:
                self._current = settings
                self._is_certain = has_explicit_index_settings(self._path_of_settings)
                self._load_error = "; ".join(warnings) if written else ""
        if not written:  # as on every first start
            logger.info("there is no settings.json yet; the defaults are in force")
            return warnings
        return _log_warnings(warnings)

    def log_unmet_requirements(self) -> list[str]:
        """Say what settings.json asks for and the machine does not offer; slow, changes nothing."""
        return _log_warnings(
            [
                *list_unmet_requirements(
                    self._path_of_settings, has_key=self._has_key, hardware=self._hardware
                ),
                *self.list_warnings(),
            ]
        )

    def list_warnings(self) -> list[str]:
        """What settings.json may ask for and a person should know of."""
        return list_endpoint_warnings(self._path_of_settings, has_key=self._has_key)

    def check_modified(self) -> list[str]:
        """Check settings-modified.json and change nothing; what a person should know of it.

        Raises ``InvalidSettings``.
        """
        check_settings_file(self._path_of_modified, has_key=self._has_key, hardware=self._hardware)
        return list_endpoint_warnings(self._path_of_modified, has_key=self._has_key)

    def update(self) -> list[str]:
        """Put settings.json in force and tell every listener, even if one of them fails.

        Returns what a person should know of them. Raises ``InvalidSettings``, and then the old
        settings stay in force.
        """
        with self._update_lock:
            settings = check_settings_file(
                self._path_of_settings, has_key=self._has_key, hardware=self._hardware
            )
            with self._state_lock:
                self._current = settings
                self._is_certain = True
                self._load_error = ""
                listeners = list(self._listeners.items())
            with ExitStack() as telling:
                for token, listener in reversed(listeners):
                    telling.callback(self._notify, token, listener, settings)
        return _log_warnings(self.list_warnings())

    def subscribe(self, listener: SettingsListener) -> Callable[[], None]:
        """Have ``listener`` called with the new settings after each update; returns the way out."""
        token = object()
        with self._state_lock:
            self._listeners[token] = listener

        def unsubscribe() -> None:
            with self._state_lock:
                self._listeners.pop(token, None)

        return unsubscribe

    def _notify(self, token: object, listener: SettingsListener, settings: Settings) -> None:
        with self._state_lock:
            # A listener before this one may have updated again, or sent this one away.
            outdated = self._current is not settings or token not in self._listeners
        if not outdated:
            listener(settings)


def _log_warnings(warnings: list[str]) -> list[str]:
    for warning in warnings:
        logger.warning("%s", warning)
    return warnings
