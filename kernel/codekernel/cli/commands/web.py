"""``codekernel web``: serve the pages on loopback, as a client of the shared kernel.

Chooses the start page and opens the browser through a private redirect file, or a one-time
address where the browser is sandboxed (snap, Flatpak).
"""

import argparse
import itertools
import os
import secrets
import shlex
import shutil
import subprocess
import sys
import threading
import time
import webbrowser
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from codekernel.adapters.static_pages import StaticPages, find_pages_folder
from codekernel.adapters.web.authentication import BROWSER_TOKEN_TTL_SECONDS, BrowserAuth
from codekernel.adapters.web.kernel_client import CallFailed, log_crash
from codekernel.adapters.web.server import WebServer
from codekernel.adapters.web.sessions import RepoSession
from codekernel.adapters.web.web_client import WebAdapter
from codekernel.cli.command_parser import MAX_PORT
from codekernel.cli.environment_model import read_environment_model
from codekernel.cli.folder_session import describe_gaps, is_complete
from codekernel.cli.main import STANDALONE_ENV_VARIABLE
from codekernel.cli.output.terminal import print_notice
from codekernel.cli.process import ExitCode, handle_stop_signals
from codekernel.cli.project_folder import find_project_root
from codekernel.client.launcher import wants_standalone
from codekernel.client.linked_kernel import LinkedKernel
from codekernel.client.relay import KernelLink, make_attach_line
from codekernel.client.relay_state import RelayState
from codekernel.domain.concurrency import start_thread
from codekernel.domain.untrusted_text import escape_html
from codekernel.errors import EndpointUnavailable, InvalidPath, KernelError, KernelUnavailable
from codekernel.protocol import MAIN_SESSION_ID
from codekernel.runtime import logging_setup
from codekernel.storage.safe_files import (
    create_file_atomically,
    make_private_folder,
    write_bytes_atomically,
)
from codekernel.storage.user_data import UserData, open_user_data
from codekernel.transport.connections import can_check_account
from codekernel.transport.lines import MemoryChannel

if TYPE_CHECKING:  # heavier than the start of the command
    from codekernel.app import Kernel

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
        answer = subprocess.run(
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
    start_thread("browser", lambda: _open_page(access, folder, environ), log_crash)


def has_display(environ: Mapping[str, str]) -> bool:
    """Return whether a window can be seen; else a text browser would take over the terminal."""
    if environ.get("CI"):
        return False
    if sys.platform in {"win32", "darwin"}:
        return True
    return any(environ.get(name) for name in _DISPLAY_VARIABLES)


def _open_page(access: BrowserAuth, folder: Path, environ: Mapping[str, str]) -> None:
    _remove_stale_redirects(folder)
    is_sandboxed = can_check_account() and is_browser_sandboxed(environ)
    file = None if is_sandboxed else _write_redirect(access, folder)
    if file is None and not can_check_account():
        print_notice("no browser was opened; open the address above")
        return
    address = file.as_uri() if file else access.make_browser_url(own_account_only=True)
    start_thread("browser:wait", lambda: _wait_for_entry(access, file), log_crash)
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
    address = escape_html(access.make_browser_url(own_account_only=False))
    file = folder / f"{_REDIRECT_PREFIX}{secrets.token_hex(8)}.html"
    try:
        make_private_folder(folder)
        create_file_atomically(file, _REDIRECT_PAGE.format(address=address).encode())
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

# As many as are served at a time; the next start uses the first that is free.
MAX_KEPT_PORTS = 4


def run_web(args: argparse.Namespace) -> int:
    """Serve the pages until Ctrl-C. Raises KernelError."""
    environ = dict(os.environ)
    channel = MemoryChannel()
    folder = choose_start_folder(args.folder)
    user_data = open_user_data(args.user_data, environ)
    adapter = WebAdapter(channel, user_data, environ, str(folder or ""))
    start_page = StartPage(adapter, folder)
    make_server = partial(
        WebServer,
        StaticPages(find_pages_folder()),
        adapter.open_client,
        start_page.wait_for_address,
    )
    try:
        server = make_server(args.port) if args.port else serve_at_kept_port(make_server, user_data)
    except OSError as error:
        print_notice(
            f"port {args.port} cannot be used: {error.strerror}. Choose another one, or none."
        )
        return ExitCode.ERROR
    print(f"Open {server.auth.entry_url}", flush=True)
    if not args.no_browser:
        open_browser(server.auth, user_data.browser_folder, environ)
    logging_setup.log_to_stderr()
    kernel = _connect_kernel(user_data, channel, standalone=args.standalone)
    _install_signal_handlers(kernel.stop)
    adapter.start(kernel.crash)
    _offer_environment_model(adapter, environ)
    server.start(kernel.crash)
    start_thread("start-page", start_page.prepare, kernel.crash)
    print_notice("the address above is good once; Ctrl-C stops codekernel")
    code = kernel.run()
    server.stop()
    print_notice(
        "stopped" if code == 0 else f"stopped, but not in order; {user_data.logs_folder} says why"
    )
    return code


def _offer_environment_model(adapter: WebAdapter, environ: Mapping[str, str]) -> None:
    """Let the pages use the chat model of this terminal's environment."""
    try:
        # Nothing is sent before a question is: an endpoint is not asked which models it has.
        model = read_environment_model(environ, lambda _url, _key: [])
    except KernelError as error:
        print_notice(str(error))
        return
    if model:
        adapter.kernel.notify(MAIN_SESSION_ID, "offerModel", model.offer)


def _connect_kernel(
    user_data: UserData, channel: MemoryChannel, *, standalone: bool
) -> "Kernel | LinkedKernel":
    """Return the kernel that all clients share, else one in this process."""
    standalone = standalone or bool(os.environ.get(STANDALONE_ENV_VARIABLE))
    if not standalone and not wants_standalone(user_data.root):
        try:
            link = KernelLink(user_data.root, RelayState(), make_attach_line("web"))
        except (EndpointUnavailable, KernelUnavailable) as error:
            print_notice(f"{error}; the browser has a kernel of its own")
        else:
            return LinkedKernel(channel, link)
    from codekernel.cli.kernel_startup import make_kernel  # after the address is printed

    return make_kernel(user_data, channel)


def serve_at_kept_port(make_server: Callable[[int], WebServer], user_data: UserData) -> WebServer:
    """Serve at a port of earlier runs, so that addresses stay good; else at any, which is kept."""
    ports = _read_kept_ports(user_data.web_ports_file)
    for port in ports:
        with suppress(OSError):
            return make_server(port)
    server = make_server(0)
    kept = [*ports, server.auth.port][-MAX_KEPT_PORTS:]
    with suppress(KernelError):  # as on a full disk; the next run has another port then
        make_private_folder(user_data.web_ports_file.parent)
        write_bytes_atomically(user_data.web_ports_file, "".join(f"{p}\n" for p in kept).encode())
    return server


def _read_kept_ports(file: Path) -> list[int]:
    try:
        words = file.read_text(encoding="ascii", errors="replace").split()
    except OSError:
        return []
    return [int(word) for word in words if word.isdecimal() and 0 < int(word) <= MAX_PORT]


def _install_signal_handlers(stop: Callable[[], None]) -> None:
    """Stop the kernel at the first signal; end the process at the second."""
    caught = itertools.count()

    def stop_or_exit() -> None:
        if next(caught):
            os._exit(ExitCode.INTERRUPTED)
        # Not through sys.stderr: another thread may be in the middle of a line there.
        os.write(2, _STOPPING_NOTICE)
        stop()

    handle_stop_signals(stop_or_exit)


# The page waits for the registration, which waits for the kernel to be loaded.
START_PAGE_TIMEOUT_SECONDS = 10.0

# Nobody waits for the notice that the index is complete.
POLL_INTERVAL_SECONDS = 1.0

_REPOSITORIES_PAGE = "/repos.html"


class StartPage:
    """The first page; ``folder`` is None where there is no project to start with."""

    def __init__(self, adapter: WebAdapter, folder: Path | None) -> None:
        self._adapter = adapter
        self._folder = folder
        self._address = _REPOSITORIES_PAGE
        self._is_known = threading.Event()

    def wait_for_address(self) -> str:
        """Return the address of the first page, once it is known."""
        self._is_known.wait(START_PAGE_TIMEOUT_SECONDS)
        return self._address

    def prepare(self) -> None:
        """Register the folder, have it indexed, and say when that is done."""
        try:
            session = self._open(self._folder) if self._folder else None
        except CallFailed as error:
            print_notice(f"{error} The browser shows the list of repositories.")
            session = None
        if session:
            self._address = f"/repository.html?repo={quote(session.repo_name, safe='')}"
        self._is_known.set()
        if session:
            self._announce_index(session)

    def _open(self, folder: Path) -> RepoSession:
        repos = self._adapter.kernel.request(MAIN_SESSION_ID, "getRepos")["repoList"]
        session = self._adapter.sessions.open_folder_in_advance(str(folder))
        if session.repo_name not in {each["name"] for each in repos}:
            print_notice(f"{folder} is registered as the repository {session.repo_name}")
        return session

    def _announce_index(self, session: RepoSession) -> None:
        name = session.repo_name
        print_notice(f"{name} is being indexed")
        pause = threading.Event()
        try:
            while True:
                status = self._adapter.kernel.request(session.id, "getIndexStatus")
                if is_complete(status, wants_vectors=True):
                    break
                pause.wait(POLL_INTERVAL_SECONDS)
        except CallFailed:
            return  # its tab was closed, or the kernel is stopping
        print_notice(f"{name} is indexed: {status['files']} files, {status['chunks']} chunks")
        for sentence in describe_gaps(status, wants_vectors=True):
            print_notice(sentence)
