"""Opening an address in the person's browser, where there is one to be seen."""

import sys
import webbrowser
from collections.abc import Mapping

from kernel.cli.search_streams import say
from kernel.doors.web import threads

_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")


def open_browser(address: str, environ: Mapping[str, str]) -> None:
    """Open it, without waiting; where that cannot be, the printed address has to do."""
    if not can_be_seen(environ):
        say("no browser was opened, for there is no display here")
        return

    def work() -> None:
        if not webbrowser.open(address):
            say("no browser was found")

    threads.start("browser", work, threads.log_crash)


def can_be_seen(environ: Mapping[str, str]) -> bool:
    """Whether a window would be seen; else a browser in the terminal would take it over."""
    if environ.get("CI"):
        return False
    if sys.platform in {"win32", "darwin"}:
        return True
    return any(environ.get(name) for name in _DISPLAYS)
