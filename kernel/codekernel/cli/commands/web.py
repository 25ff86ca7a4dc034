"""``codekernel web``: serve the pages on loopback with a kernel in this process.

Chooses the start page and opens the browser through a private redirect file, or a one-time
address where the browser is sandboxed (snap, Flatpak).
"""

import argparse
import os
import secrets
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, suppress
from html import escape
from itertools import count
from pathlib import Path
from typing import NoReturn
from urllib.parse import quote

from codekernel.adapters.web import threads
from codekernel.adapters.web.authentication import BROWSER_TOKEN_TTL_SECONDS, BrowserAuth
from codekernel.adapters.web.kernel_client import CallFailed
from codekernel.adapters.web.pages import StaticPages, find_pages_folder
from codekernel.adapters.web.server import WebServer
from codekernel.adapters.web.web_client import WebAdapter
from codekernel.cli.output.terminal import print_notice
from codekernel.cli.process import ExitCode, shorten_switch_interval
from codekernel.cli.project_folder import find_project_root
from codekernel.errors import InvalidPath, KernelError, RepoNameExist
from codekernel.protocol.envelope import MAIN_SESSION_ID
from codekernel.storage.safe_files import create_file_atomically
from codekernel.storage.user_data import UserData, make_private_folder, open_user_data
from codekernel.transport.channels import MemoryChannel
from codekernel.transport.connections import can_check_account

_XDG_SETTINGS_TIMEOUT_SECONDS = 5.0

_SNAP_APPLICATIONS = "/var/lib/snapd/desktop"

_SANDBOX_MARKERS = ("X-SnapInstanceName", "X-Flatpak")

_SANDBOX_FOLDERS = ("/snap/", "/flatpak/", "/snapd/")


def is_browser_sandboxed(environ: Mapping[str, str]) -> bool:
    """Return whether the browser that would be opened is known to run in a sandbox."""
    if sys.platform in {"win32", "darwin"}:
        return False
    if environ.get("BROWSER"):
        return _is_program_sandboxed(environ["BROWSER"].split(os.pathsep)[0])
    desktop = _find_default_browser(environ)
    if desktop:
        return any(_is_sandbox_entry(file) for file in _list_desktop_entries(desktop, environ))
    return _is_program_sandboxed("x-www-browser")


def _is_program_sandboxed(command: str) -> bool:
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    program = shutil.which(words[0]) if words else None
    if program is None:
        return False
    real = os.path.realpath(program)
    return Path(real).name in {"snap", "flatpak"} or any(
        part in path for part in _SANDBOX_FOLDERS for path in (program, real)
    )


def _find_default_browser(environ: Mapping[str, str]) -> str:
    """Return the name of the default browser's .desktop file; empty if it is unknown."""
    program = shutil.which("xdg-settings")
    if program is None:
        return ""
    try:
        answer = subprocess.run(  # noqa: S603 - fixed arguments
            [program, "get", "default-web-browser"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=dict(environ),
            timeout=_XDG_SETTINGS_TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    name = answer.stdout.decode(errors="replace").strip()
    return name if name.endswith(".desktop") and os.sep not in name else ""


def _list_desktop_entries(desktop: str, environ: Mapping[str, str]) -> Iterator[Path]:
    home = Path(environ.get("HOME") or "/")
    folders = [
        environ.get("XDG_DATA_HOME") or str(home / ".local" / "share"),
        *(environ.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share").split(":"),
        _SNAP_APPLICATIONS,
    ]
    return (Path(folder, "applications", desktop) for folder in folders if folder)


def _is_sandbox_entry(file: Path) -> bool:
    try:
        content = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return any(mark in content for mark in _SANDBOX_MARKERS) or any(
        part in str(file) for part in _SANDBOX_FOLDERS
    )


_DISPLAY_VARIABLES = ("DISPLAY", "WAYLAND_DISPLAY")

_REDIRECT_PREFIX = "open-"

_REDIRECT_PAGE = """<!doctype html>
<meta charset="utf-8" />
<meta name="referrer" content="no-referrer" />
<meta http-equiv="refresh" content="0;url={address}" />
<title>codekernel</title>
<a href="{address}">Open codekernel</a>
"""


def open_browser(access: BrowserAuth, folder: Path, environ: Mapping[str, str]) -> None:
    """Open the browser on a thread, or print why none was opened.

    ``folder`` holds the redirect files by which browsers enter.
    """
    if not has_display(environ):
        print_notice("no browser was opened, for there is no display here")
        return
    threads.start_thread("browser", lambda: _open_page(access, folder, environ), threads.log_crash)


def has_display(environ: Mapping[str, str]) -> bool:
    """Return whether a window can be seen; else a text browser would take over the terminal."""
    if environ.get("CI"):
        return False
    if sys.platform in {"win32", "darwin"}:
        return True
    return any(environ.get(name) for name in _DISPLAY_VARIABLES)


def _open_page(access: BrowserAuth, folder: Path, environ: Mapping[str, str]) -> None:
    _remove_stale_redirects(folder)
    file = (
        None
        if can_check_account() and is_browser_sandboxed(environ)
        else _write_redirect(access, folder)
    )
    if file is None and not can_check_account():
        print_notice("no browser was opened; open the address above")
        return
    address = file.as_uri() if file else access.make_browser_url(own_account_only=True)
    threads.start_thread("browser:wait", lambda: _wait_for_entry(access, file), threads.log_crash)
    if not webbrowser.open(address):  # may wait until the browser is closed
        print_notice("no browser was found; open the address above")


def _wait_for_entry(access: BrowserAuth, file: Path | None) -> None:
    """Remove the redirect file once a browser has entered, or its token has expired."""
    if not access.entered.wait(BROWSER_TOKEN_TTL_SECONDS):
        print_notice("no browser has come yet; the address above is good still")
    if file:
        with suppress(OSError):
            file.unlink()


def _write_redirect(access: BrowserAuth, folder: Path) -> Path | None:
    """Write the private redirect file; None if it cannot be written, as on a full disk."""
    address = escape(access.make_browser_url(own_account_only=False))
    file = folder / f"{_REDIRECT_PREFIX}{secrets.token_hex(8)}.html"
    try:
        make_private_folder(folder)
        create_file_atomically(file, _REDIRECT_PAGE.format(address=address).encode(), mode=0o600)
    except KernelError as error:
        print_notice(str(error))
        return None
    return file


def _remove_stale_redirects(folder: Path) -> None:
    """Remove the files of runs that were killed; their tokens have expired."""
    oldest = time.time() - BROWSER_TOKEN_TTL_SECONDS
    with suppress(OSError):
        for file in folder.glob(f"{_REDIRECT_PREFIX}*.html"):
            if file.stat().st_mtime < oldest:
                file.unlink()


# The page waits for the registration, which waits for the kernel to be loaded.
START_PAGE_TIMEOUT_SECONDS = 10.0

# The repository is indexed without a browser, too; but the first page comes first.
INDEXING_DELAY_SECONDS = 2.0

_REPOSITORIES_PAGE = "/repos.html"


class StartPage:
    """The first page; ``folder`` is None where there is no project to start with."""

    def __init__(
        self,
        adapter: WebAdapter,
        user_data: UserData,
        environ: Mapping[str, str],
        folder: Path | None,
    ) -> None:
        self._adapter = adapter
        self._user_data = user_data
        self._environ = environ
        self._folder = folder
        self._address = _REPOSITORIES_PAGE
        self._is_known = threading.Event()

    def wait_for_address(self) -> str:
        """Return the address of the first page, once it is known."""
        self._is_known.wait(START_PAGE_TIMEOUT_SECONDS)
        return self._address

    def prepare(self) -> None:
        """Register the folder and start indexing it."""
        try:
            name = self._register(self._folder) if self._folder else None
        except (CallFailed, KernelError) as error:
            print_notice(f"{error} The browser shows the list of repositories.")
            name = None
        if name is not None:
            self._address = f"/repository.html?repo={quote(name, safe='')}"
        self._is_known.set()
        if name is not None:
            threading.Event().wait(INDEXING_DELAY_SECONDS)
            self._start_indexing(name)

    def _start_indexing(self, name: str) -> None:
        try:
            if self._adapter.sessions.open_in_advance(name):
                print_notice(f"{name} is being indexed")
        except CallFailed as error:
            print_notice(f"{name} cannot be indexed yet. {error}")

    def _register(self, folder: Path) -> str:
        """Return the name of the folder's repository, which is registered if it is new."""
        request = self._adapter.kernel.request
        known = {
            each["name"]: each["path"] for each in request(MAIN_SESSION_ID, "getRepos")["repoList"]
        }
        for name, path in known.items():
            if os.path.realpath(path) == os.path.realpath(folder):
                return str(name)
        name = folder.name
        if name in known:
            name = self._register_under_free_name(folder)
        else:
            request(MAIN_SESSION_ID, "createRepo", {"repoName": name, "path": str(folder)})
        print_notice(f"{folder} is registered as the repository {name}")
        return name

    def _register_under_free_name(self, folder: Path) -> str:
        """Register under the first free ``name-2``, ``name-3``, ...; createRepo cannot do that."""
        from codekernel.storage.vault.tables import RepoRegistry  # noqa: PLC0415 - seldom needed
        from codekernel.storage.vault.vault import CommandVault  # noqa: PLC0415

        with closing(CommandVault(self._user_data, self._environ)) as vault:
            registry = RepoRegistry(vault)
            for number in count(2):
                try:
                    return registry.add(f"{folder.name}-{number}", folder).name
                except RepoNameExist:
                    continue
        raise AssertionError("numbers do not end")


def choose_start_folder(argument: str | None) -> Path | None:
    """Return the given folder, else the repository around the current one, else the current one.

    None if the current folder is no project. Raises InvalidPath.
    """
    if argument is not None:
        if Path(argument).is_file():
            raise InvalidPath(f"{argument} is a file; name the folder around it")
        return find_project_root(argument)
    try:
        return find_project_root(None)
    except InvalidPath:
        print_notice("this folder is no project; the browser shows the list of repositories")
        return None


_STOPPING_NOTICE = b"codekernel: stopping; Ctrl-C again to end at once\n"


def run_web(args: argparse.Namespace) -> int:
    """Serve the pages until Ctrl-C. Raises KernelError."""
    environ = dict(os.environ)
    channel = MemoryChannel()
    try:
        folder = choose_start_folder(args.folder)
        user_data = open_user_data(args.user_data, environ)
        adapter = WebAdapter(channel, user_data, environ, str(folder or ""))
        start_page = StartPage(adapter, user_data, environ, folder)
        server = WebServer(
            StaticPages(find_pages_folder()),
            adapter.open_client,
            start_page.wait_for_address,
            args.port,
        )
    except OSError as error:
        print_notice(
            f"port {args.port} cannot be used: {error.strerror}. Choose another one, or none."
        )
        return ExitCode.ERROR
    print(f"Open {server.auth.entry_url}", flush=True)
    if not args.no_browser:
        open_browser(server.auth, user_data.browser_folder, environ)
    return _run_server(server, adapter, start_page, user_data, channel)


def _run_server(
    server: WebServer,
    adapter: WebAdapter,
    start_page: StartPage,
    user_data: UserData,
    channel: MemoryChannel,
) -> int:
    from codekernel.runtime import logging_setup  # noqa: PLC0415 - the address is printed before anything is loaded

    logging_setup.log_to_stderr()
    from codekernel.app import Kernel  # noqa: PLC0415
    from codekernel.domain.garbage_collection import raise_gc_thresholds  # noqa: PLC0415

    shorten_switch_interval()
    raise_gc_thresholds()
    logging_setup.log_to_file(user_data.logs_folder)
    kernel = Kernel(user_data, os.environ, channel)
    _install_signal_handlers(kernel.stop)
    adapter.start(kernel.crash)
    server.start(kernel.crash)
    threads.start_thread("start-page", start_page.prepare, kernel.crash)
    print_notice("the address above is good once; Ctrl-C stops codekernel")
    code = kernel.run()
    server.stop()
    print_notice(
        "stopped" if code == 0 else f"stopped, but not in order; {user_data.logs_folder} says why"
    )
    return code


def _install_signal_handlers(stop: Callable[[], None]) -> None:
    """Stop the kernel at the first signal; end the process at the second."""

    def force(*_: object) -> NoReturn:
        os._exit(ExitCode.INTERRUPTED)

    def ask(*_: object) -> None:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, force)
        stop()
        # Not through sys.stderr: what was interrupted may be in the middle of a line there.
        os.write(2, _STOPPING_NOTICE)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, ask)
