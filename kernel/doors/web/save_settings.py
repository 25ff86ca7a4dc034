"""New settings, as the protocol wants them: written beside the old ones, checked, moved, used."""

import json
import threading
from contextlib import suppress

from kernel.doors.web.exchange import Exchange
from kernel.errors import WrongParam
from kernel.protocol.envelope import MAIN_SESSION_ID
from kernel.storage import atomic
from kernel.storage.quarantine import quarantine_user_file
from kernel.storage.set_aside import is_odd
from kernel.storage.user_data import UserData


class SettingsDesk:
    """Two tabs may save at once; there is one settings-modified.json."""

    def __init__(self, exchange: Exchange, user_data: UserData) -> None:
        self._exchange = exchange
        self._user_data = user_data
        self._saving = threading.Lock()

    def save(self, settings: object) -> None:
        """Put settings in force; a refusal is the kernel's, and then settings.json is as it was."""
        if not isinstance(settings, dict):
            raise WrongParam("Settings are an object.")
        text = json.dumps(settings, indent=2, ensure_ascii=False) + "\n"
        content = text.encode(errors="backslashreplace")  # half a surrogate pair, as JSON writes it
        proposed = self._user_data.modified_settings_file
        with self._saving:
            try:
                atomic.write_bytes(proposed, content)
                self._exchange.ask(MAIN_SESSION_ID, "checkSettings")
                if is_odd(self._user_data.settings_file):  # a folder in its place
                    quarantine_user_file(self._user_data.settings_file)
                # Written, not renamed: a settings.json that is a link stays one.
                atomic.write_bytes(self._user_data.settings_file, content)
            finally:
                with suppress(OSError):
                    proposed.unlink()
            self._exchange.ask(MAIN_SESSION_ID, "updateSettings")
