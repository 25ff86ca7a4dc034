"""Save settings as the protocol wants it: written beside the old ones, checked, moved, used.

A front end does that and never the kernel; electron-bridge/app/src/settings_saver.js is the same.
"""

import json
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from codekernel.errors import WrongParam
from codekernel.storage import safe_files
from codekernel.storage.quarantine import is_irregular, quarantine_user_file
from codekernel.storage.user_data import UserData

# Of programs that save at the same moment, each in turn is the only one left.
MAX_SAVE_ATTEMPTS = 10


@dataclass(frozen=True, slots=True)
class SettingsSaver:
    """Saves settings; a lock, because there is one settings-modified.json for all threads."""

    # Sends a message without fields and waits for its reply; raises ``_refusal``.
    _request: Callable[[str], object]
    _refusal: type[Exception]
    _user_data: UserData
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def save(self, settings: object) -> None:
        """Put settings in force; a refusal is the kernel's, and then settings.json is as it was."""
        if not isinstance(settings, dict):
            raise WrongParam("Settings are an object.")
        text = json.dumps(settings, indent=2, ensure_ascii=False) + "\n"
        content = text.encode(errors="backslashreplace")  # half a surrogate pair, as JSON writes it
        proposed = self._user_data.modified_settings_file
        with self._lock:
            try:
                self._check(content)
                if is_irregular(self._user_data.settings_file):  # a folder in its place
                    quarantine_user_file(self._user_data.settings_file)
                # Written, not renamed: a settings.json that is a link stays one.
                safe_files.write_bytes_atomically(self._user_data.settings_file, content)
            finally:
                with suppress(OSError):
                    proposed.unlink()
            self._request("updateSettings")

    def _check(self, content: bytes) -> None:
        """Have the kernel check these settings, and not those of another program.

        The desktop app may save at the same time, to the same file.
        """
        proposed = self._user_data.modified_settings_file
        for attempt in range(1, MAX_SAVE_ATTEMPTS + 1):
            safe_files.write_bytes_atomically(proposed, content)
            failure: Exception | None = None
            try:
                self._request("checkSettings")
            except self._refusal as error:
                failure = error
            if _has_content(proposed, content) or attempt == MAX_SAVE_ATTEMPTS:
                if failure:
                    raise failure
                return


def _has_content(path: Path, content: bytes) -> bool:
    try:
        return safe_files.read_regular(path) == content
    except OSError:
        return False
