"""Opening the first page in the person's browser, where there is one to be seen.

What a program is started with can be read by every account of the machine. So the browser is given
a private file that leads on to the address. A browser in a sandbox of its own cannot read such a
file; it gets an address that is good once, for a minute, and for our own account only.
"""

import secrets
import sys
import time
import webbrowser
from collections.abc import Mapping
from contextlib import suppress
from html import escape
from pathlib import Path

from kernel.cli.search_streams import say
from kernel.cli.web_confinement import is_confined
from kernel.doors.web import threads
from kernel.doors.web.access import BROWSER_TOKEN_SECONDS, Access
from kernel.errors import KernelError
from kernel.storage.atomic import create_bytes
from kernel.storage.private_folder import make_private_folder
from kernel.transport.peer_account import can_tell_account

_DISPLAYS = ("DISPLAY", "WAYLAND_DISPLAY")
_PREFIX = "open-"
_REDIRECT = """<!doctype html>
<meta charset="utf-8" />
<meta name="referrer" content="no-referrer" />
<meta http-equiv="refresh" content="0;url={address}" />
<title>codekernel</title>
<a href="{address}">Open codekernel</a>
"""


def open_browser(access: Access, folder: Path, environ: Mapping[str, str]) -> None:
    """Open it, without waiting; where that cannot be, the printed address has to do.

    ``folder`` holds the files by which browsers are let in.
    """
    if not can_be_seen(environ):
        say("no browser was opened, for there is no display here")
        return
    threads.start("browser", lambda: _open(access, folder, environ), threads.log_crash)


def can_be_seen(environ: Mapping[str, str]) -> bool:
    """Whether a window would be seen; else a browser in the terminal would take it over."""
    if environ.get("CI"):
        return False
    if sys.platform in {"win32", "darwin"}:
        return True
    return any(environ.get(name) for name in _DISPLAYS)


def _open(access: Access, folder: Path, environ: Mapping[str, str]) -> None:
    _remove_stale(folder)
    file = None if can_tell_account() and is_confined(environ) else _write_redirect(access, folder)
    if file is None and not can_tell_account():
        say("no browser was opened; open the address above")
        return
    address = file.as_uri() if file else access.browser_address(own_account_only=True)
    threads.start("browser:wait", lambda: _wait(access, file), threads.log_crash)
    if not webbrowser.open(address):  # may wait until the browser is closed
        say("no browser was found; open the address above")


def _wait(access: Access, file: Path | None) -> None:
    """Remove the file once it has served."""
    if not access.entered.wait(BROWSER_TOKEN_SECONDS):
        say("no browser has come yet; the address above is good still")
    if file:
        with suppress(OSError):
            file.unlink()


def _write_redirect(access: Access, folder: Path) -> Path | None:
    """Make the private file; None if it cannot be written, for instance on a full disk."""
    address = escape(access.browser_address(own_account_only=False))
    file = folder / f"{_PREFIX}{secrets.token_hex(8)}.html"
    try:
        make_private_folder(folder)
        create_bytes(file, _REDIRECT.format(address=address).encode(), mode=0o600)
    except KernelError as error:
        say(str(error))
        return None
    return file


def _remove_stale(folder: Path) -> None:
    """Remove what a run left behind that was killed; its tokens are good for nothing."""
    oldest = time.time() - BROWSER_TOKEN_SECONDS
    with suppress(OSError):
        for file in folder.glob(f"{_PREFIX}*.html"):
            if file.stat().st_mtime < oldest:
                file.unlink()
