"""The settings in force, and the chat models that programs offer beside them.

Settings are loaded at start-up and replaced as a whole by updateSettings, or when a client comes
after the file was edited; listeners are notified of each change. Offered models are in memory,
never on the disk: a terminal offers the model that its environment names.
"""

import logging
import os
import threading
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from codekernel.domain.settings import GenerationModel, Settings
from codekernel.settings import loading
from codekernel.settings.local_models import build_default_settings
from codekernel.settings.validation import DetectHardware, HasApiKey

logger = logging.getLogger(__name__)

SettingsListener = Callable[[Settings], object]


class LiveSettings:
    """One value for the whole kernel; any thread may read, update or subscribe.

    ``_state_lock`` guards the value and the listeners and is never held while a listener runs.
    ``_update_lock`` lets one update at a time read, swap and notify, so that listeners are called
    in order; it is reentrant because a listener may itself update.
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
        # The settings in force; the defaults before ``load``.
        self.current = build_default_settings()
        # Whether they come from the file; false while defaults replace a broken one.
        self.is_certain = False
        # Why an existing settings.json is not in force since the start; mostly empty.
        self.load_error = ""
        self._stamp: tuple[int, ...] = ()  # of the file as it was read last
        self._listeners: dict[object, SettingsListener] = {}
        self._state_lock = threading.Lock()
        self._update_lock = threading.RLock()

    def load(self) -> list[str]:
        """Read settings.json at start-up, whatever state it is in; the warnings are logged too."""
        with self._update_lock:
            self._stamp = self._read_stamp()
            settings, warnings = loading.load_settings_file(self._path_of_settings)
            is_present = os.path.lexists(self._path_of_settings)  # also a broken link
            is_certain = loading.has_explicit_index_settings(self._path_of_settings)
            self.current, self.is_certain = settings, is_certain
            self.load_error = "; ".join(warnings) if is_present else ""
        if not is_present:  # as on every first start
            logger.info("there is no settings.json yet; the defaults are in force")
            return warnings
        return _log_warnings(warnings)

    def reload_if_edited(self) -> None:
        """Put settings.json in force if it was edited; a broken or missing one is not."""
        with self._update_lock:
            stamp = self._read_stamp()
            if stamp in (self._stamp, ()):
                return
            self._stamp = stamp
            settings, warnings = loading.load_settings_file(self._path_of_settings)
            if warnings:
                self.load_error = "; ".join(_log_warnings(warnings))
            else:
                is_certain = loading.has_explicit_index_settings(self._path_of_settings)
                self._put_in_force(settings, is_certain=is_certain)

    def _read_stamp(self) -> tuple[int, ...]:
        try:
            found = self._path_of_settings.stat()
        except OSError:
            return ()
        return found.st_mtime_ns, found.st_size, found.st_ino

    def log_unmet_requirements(self) -> list[str]:
        """Log what settings.json asks for and the machine lacks; slow, changes nothing."""
        unmet = loading.list_unmet_requirements(
            self._path_of_settings, has_key=self._has_key, hardware=self._hardware
        )
        return _log_warnings([*unmet, *self.list_warnings()])

    def list_warnings(self) -> list[str]:
        """List the warnings about settings.json."""
        return loading.list_endpoint_warnings(self._path_of_settings, has_key=self._has_key)

    def check_modified(self) -> list[str]:
        """Check settings-modified.json, change nothing, and return its warnings.

        Raises ``InvalidSettings``.
        """
        loading.check_settings_file(
            self._path_of_modified, has_key=self._has_key, hardware=self._hardware
        )
        return loading.list_endpoint_warnings(self._path_of_modified, has_key=self._has_key)

    def update(self) -> list[str]:
        """Put settings.json in force and notify every listener, even if one of them fails.

        Returns its warnings. Raises ``InvalidSettings``, and then the old settings stay in force.
        """
        with self._update_lock:
            self._stamp = self._read_stamp()
            settings = loading.check_settings_file(
                self._path_of_settings, has_key=self._has_key, hardware=self._hardware
            )
            self._put_in_force(settings, is_certain=True)
        return _log_warnings(self.list_warnings())

    def _put_in_force(self, settings: Settings, *, is_certain: bool) -> None:
        with self._state_lock:
            self.current, self.is_certain, self.load_error = settings, is_certain, ""
            listeners = list(self._listeners.items())
        with ExitStack() as notifications:
            for token, listener in reversed(listeners):
                notifications.callback(self._notify, token, listener, settings)

    def subscribe(self, listener: SettingsListener) -> Callable[[], None]:
        """Have ``listener`` called with the settings after each update; return unsubscribe."""
        token = object()
        with self._state_lock:
            self._listeners[token] = listener

        def unsubscribe() -> None:
            with self._state_lock:
                self._listeners.pop(token, None)

        return unsubscribe

    def _notify(self, token: object, listener: SettingsListener, settings: Settings) -> None:
        with self._state_lock:
            # An earlier listener may have updated again, or unsubscribed this one.
            outdated = self.current is not settings or token not in self._listeners
        if not outdated:
            listener(settings)


def _log_warnings(warnings: list[str]) -> list[str]:
    for warning in warnings:
        logger.warning("%s", warning)
    return warnings


# A program offers one; more than this are mistakes, of which the oldest are forgotten.
MAX_OFFERED_MODELS = 32


class OfferedModels:
    """The models by name, with their keys; any thread may use it. Never shown: it has keys."""

    def __init__(self) -> None:
        self._models: dict[str, tuple[GenerationModel, str]] = {}
        self._lock = threading.Lock()

    def add(self, model: GenerationModel, api_key: str) -> None:
        """Add a model; another one of its name is replaced."""
        with self._lock:
            self._models.pop(model.name, None)
            self._models[model.name] = (model, api_key)
            for name in list(self._models)[:-MAX_OFFERED_MODELS]:
                del self._models[name]

    def extend(self, settings: Settings) -> Settings:
        """Return the settings with these models behind their own; theirs win by name."""
        with self._lock:
            offered = [model for model, _ in self._models.values()]
        if not offered:
            return settings
        names = {model.name for model in settings.generation_models}
        added = tuple(model for model in offered if model.name not in names)
        return replace(settings, generation_models=settings.generation_models + added)

    def make_key_finder(
        self, settings: Callable[[], Settings], find_stored: Callable[[str], str]
    ) -> Callable[[str], str]:
        """Return what finds the key of a model, whether it is stored or offered."""

        def find_key(name: str) -> str:
            is_own = any(model.name == name for model in settings().generation_models)
            with self._lock:
                offered = self._models.get(name)
            return offered[1] if offered and not is_own else find_stored(name)

        return find_key
