"""What the host offers its pages beside the kernel; the desktop app offers the same calls.

A browser window cannot be opened from here, nor its clipboard be reached: pages do that themselves.
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kernel import __version__
from kernel.doors.web.editing import can_open_editor, open_in_editor
from kernel.doors.web.save_settings import SettingsDesk
from kernel.errors import WrongParam

_NOT_HERE = {
    "chooseFolder": "A browser cannot choose a folder of this machine: type its path.",
    "openWindow": "In a browser a page goes to another page by itself.",
    "copyText": "In a browser a page copies by itself.",
    "restartKernel": "Start codekernel web again in a terminal.",
}


@dataclass(frozen=True, slots=True)
class HostCalls:
    """The calls, for every tab; ``folder`` is where the host was started, or nothing."""

    desk: SettingsDesk
    folder: str
    environ: Mapping[str, str]

    def for_tab(
        self, fields: dict[str, Any], root: Callable[[], str]
    ) -> dict[str, Callable[[], Any]]:
        """The calls by name; ``root`` is the folder of the repository that the tab has open."""
        return {
            "hostInfo": self._info,
            "saveSettings": lambda: self.desk.save(fields.get("settings")),
            "openInEditor": lambda: open_in_editor(
                root(), fields.get("filePath"), fields.get("line"), self.environ
            ),
            **{name: _refusal(why) for name, why in _NOT_HERE.items()},
        }

    def _info(self) -> dict[str, Any]:
        return {
            "kind": "browser",
            "platform": sys.platform,
            "version": __version__,
            "locale": locale_of(self.environ),
            "canChooseFolder": False,
            "canOpenEditor": can_open_editor(self.environ),
            "folder": self.folder,
        }


def locale_of(environ: Mapping[str, str]) -> str:
    """The person's language as pages name it: zh_CN.UTF-8 -> zh-CN; nothing if it is not told."""
    names = (environ.get(name) for name in ("LC_ALL", "LC_MESSAGES", "LANG"))
    spoken = next((name for name in names if name), "").partition(".")[0].partition("@")[0]
    return "" if spoken in {"C", "POSIX"} else spoken.replace("_", "-")


def _refusal(why: str) -> Callable[[], Any]:
    def refuse() -> None:
        raise WrongParam(why)

    return refuse
