"""Carry out the calls of pages that take more than one request, or none (settings, editor)."""

import json
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from codekernel import __version__
from codekernel.adapters.web.editors import can_open_editor, open_in_editor
from codekernel.adapters.web.kernel_client import CallFailed, KernelClient
from codekernel.errors import WrongParam
from codekernel.protocol.envelope import MAIN_SESSION_ID
from codekernel.storage import safe_files
from codekernel.storage.quarantine import is_irregular, quarantine_user_file
from codekernel.storage.user_data import UserData

# Their reply may be too long for memory; they have no fields (see kernel_client.LongData).
CALLS_WITHOUT_FIELDS = frozenset({"getChunksInfo"})


def has_api_key(kernel: KernelClient, name: object) -> bool:
    """Return whether a key is stored under this name; the key itself stays here."""
    try:
        kernel.request(MAIN_SESSION_ID, "getApiKey", {"name": name})
    except CallFailed as error:
        if error.code == "API_KEY_NOT_FOUND":
            return False
        raise
    return True


def check_fields(fields: object) -> dict[str, Any]:
    """Return the fields of a call. Raises CallFailed."""
    if fields is None:
        return {}
    if not isinstance(fields, dict):
        raise CallFailed("WRONG_PARAM", "The fields of a request are an object.")
    return fields


class SettingsSaver:
    """Saves settings; a lock, because two tabs may save and there is one settings-modified.json."""

    def __init__(self, kernel: KernelClient, user_data: UserData) -> None:
        self._kernel = kernel
        self._user_data = user_data
        self._lock = threading.Lock()

    def save(self, settings: object) -> None:
        """Put settings in force; a refusal is the kernel's, and then settings.json is as it was."""
        if not isinstance(settings, dict):
            raise WrongParam("Settings are an object.")
        text = json.dumps(settings, indent=2, ensure_ascii=False) + "\n"
        content = text.encode(errors="backslashreplace")  # half a surrogate pair, as JSON writes it
        proposed = self._user_data.modified_settings_file
        with self._lock:
            try:
                safe_files.write_bytes_atomically(proposed, content)
                self._kernel.request(MAIN_SESSION_ID, "checkSettings")
                if is_irregular(self._user_data.settings_file):  # a folder in its place
                    quarantine_user_file(self._user_data.settings_file)
                # Written, not renamed: a settings.json that is a link stays one.
                safe_files.write_bytes_atomically(self._user_data.settings_file, content)
            finally:
                with suppress(OSError):
                    proposed.unlink()
            self._kernel.request(MAIN_SESSION_ID, "updateSettings")


_UNAVAILABLE_CALLS = {
    "chooseFolder": "A browser cannot choose a folder of this machine: type its path.",
    "openWindow": "In a browser a page goes to another page by itself.",
    "copyText": "In a browser a page copies by itself.",
    "restartKernel": "Start codekernel web again in a terminal.",
}


@dataclass(frozen=True, slots=True)
class HostCalls:
    """The host calls of every tab; ``folder`` is where the host was started, or empty."""

    settings_saver: SettingsSaver
    folder: str
    environ: Mapping[str, str]

    def make_calls(
        self, fields: dict[str, Any], root: Callable[[], str]
    ) -> dict[str, Callable[[], Any]]:
        """Return the calls by name; ``root`` returns the folder of the tab's repository."""
        return {
            "hostInfo": self._get_info,
            "saveSettings": lambda: self.settings_saver.save(fields.get("settings")),
            "openInEditor": lambda: open_in_editor(
                root(), fields.get("filePath"), fields.get("line"), self.environ
            ),
            **{name: _make_refusal(why) for name, why in _UNAVAILABLE_CALLS.items()},
        }

    def _get_info(self) -> dict[str, Any]:
        return {
            "kind": "browser",
            "platform": sys.platform,
            "version": __version__,
            "locale": detect_locale(self.environ),
            "canChooseFolder": False,
            "canOpenEditor": can_open_editor(self.environ),
            "folder": self.folder,
        }


def detect_locale(environ: Mapping[str, str]) -> str:
    """Return the user's language as pages name it: zh_CN.UTF-8 -> zh-CN; empty if not set."""
    names = (environ.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
    language = next((name for name in names if name), "").partition(".")[0].partition("@")[0]
    return "" if language in {"C", "POSIX"} else language.replace("_", "-")


def _make_refusal(why: str) -> Callable[[], Any]:
    def refuse() -> None:
        raise WrongParam(why)

    return refuse
