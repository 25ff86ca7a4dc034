"""Watch a repository by events, polling or both.

Explain to the user when the system refuses to watch. Falls back to polling, retries later and
waits for a vanished root to return.
"""

import errno
import os
import stat
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from codekernel.watching.debounce import ChangedPaths, ChangeNotifier
from codekernel.watching.event_source import EventSource, WatchdogSource
from codekernel.watching.inotify_source import InotifySource
from codekernel.watching.polling import needs_polling

POLLING_NOTICE = "Until then its files are looked at every few seconds."


def explain_watch_error(error: OSError, root: Path) -> str:
    """Put ``error``, met while watching ``root``, into a sentence with advice."""
    reason = error.strerror or type(error).__name__
    advice = {
        errno.ENOSPC: (
            "the system's limit of watched folders is used up: raise fs.inotify.max_user_watches"
            " (sudo sysctl fs.inotify.max_user_watches=524288)"
        ),
        errno.EMFILE: (
            "the limit of watchers or of open files is used up: raise"
            " fs.inotify.max_user_instances (sudo sysctl fs.inotify.max_user_instances=512) or the"
            " open files limit (ulimit -n) of the account that runs codekernel"
        ),
        errno.ENFILE: (
            "the whole system has too many open files: close programs or raise fs.file-max"
        ),
        errno.ENOMEM: "the system is out of memory: close other programs",
        errno.EACCES: "the account that runs codekernel may not read it: change its permissions",
        errno.EPERM: "the account that runs codekernel may not read it: change its permissions",
    }.get(
        error.errno or 0,
        f"its file system does not offer that ({reason}): nothing need be done, or move the"
        " repository to a local disk",
    )
    return f"Changes in {root} cannot be noticed at once, {advice}. {POLLING_NOTICE}"


# A variable, so that the type checker reads both branches.
ON_LINUX: bool = sys.platform == "linux"

# How often to see whether the root is still (or again) the same folder: a renamed parent, or a disk
# mounted over it, sends no event. One stat.
ROOT_CHECK_INTERVAL_SECONDS = 2.0

# How long after a refusal to try again: someone may have raised the limit, or closed an editor.
RETRY_INTERVAL_SECONDS = 300.0

# Closing waits so long, in all, for threads that are busy, then leaves them to end by themselves.
CLOSE_TIMEOUT_SECONDS = 0.15


class FileWatcher:
    """Tells ``notify``, on a thread of its own, what changed below ``root``.

    A sweep is told once watching is complete. ``notify`` and ``on_trouble`` must not raise.
    Folders for which ``skip_folder`` (called on another thread, with a relative path) is true are
    not watched; when its answers change, call ``reconsider``. Links are not followed, and a git
    folder outside the root (a worktree's, a submodule's) is not watched.
    """

    def __init__(
        self,
        root: Path,
        notify: Callable[[ChangedPaths], None],
        *,
        on_error: Callable[[str], None],
        skip_folder: Callable[[str], bool] | None = None,
    ) -> None:
        self.mode: Literal["watching", "polling"] = "watching"
        self._root = root
        self._on_error = on_error
        self._skip_folder = skip_folder
        self._reported_errors: set[str] = set()
        self._notifier = ChangeNotifier(notify)
        self._closing = threading.Event()
        self._refresh_requested = threading.Event()
        # Guards the source against being woken while it is replaced.
        self._source_lock = threading.Lock()
        self._source: EventSource | None = None
        self._thread = threading.Thread(target=self._run, name="watching", daemon=True)

    def start(self) -> None:
        """Begin; returns at once, however many folders there are."""
        self._notifier.thread.start()
        self._thread.start()

    def refresh_watches(self) -> None:
        """Ask ``skip_folder`` anew, for all folders; a sweep is told when that is done."""
        with self._source_lock:
            self._refresh_requested.set()
            if self._source is not None:
                self._source.wake()

    def set_poll_interval(self, seconds: float) -> None:
        """Leave this long between two polls, because a sweep takes long; within reason."""
        self._notifier.set_poll_interval(seconds)

    def close(self) -> None:
        """Tell nothing any more and end the threads."""
        with self._source_lock:
            self._closing.set()
            if self._source is not None:
                self._source.stop()
        self._notifier.close()
        until = time.monotonic() + CLOSE_TIMEOUT_SECONDS
        for thread in (self._thread, self._notifier.thread):
            if thread.is_alive() and thread is not threading.current_thread():
                thread.join(max(0.0, until - time.monotonic()))

    def _run(self) -> None:
        while not self._closing.is_set():
            try:
                self._watch()
            except OSError as error:
                if _get_folder_identity(self._root) is not None:
                    self._fall_back_to_polling(error)
                    self._closing.wait(RETRY_INTERVAL_SECONDS)
                    continue
            self._wait_for_root()

    def _watch(self) -> None:
        """Set up and tell of events, until the root is another folder or none."""
        identity = _get_folder_identity(self._root)
        if identity is None:
            return
        with self._source_lock:
            source = self._source = _create_source(os.fspath(self._root), self._skip_folder)
            if self._closing.is_set():
                source.stop()
        try:
            self._refresh_requested.set()
            while not self._closing.is_set() and _get_folder_identity(self._root) == identity:
                if self._refresh_requested.is_set():
                    self._refresh_requested.clear()
                    self._start_source(source)
                news = source.wait(ROOT_CHECK_INTERVAL_SECONDS)
                if news.is_root_lost:
                    return
                self._notifier.report(news.paths, needs_rescan=news.needs_rescan)
        finally:
            with self._source_lock:
                self._source = None
            source.close()

    def _start_source(self, source: EventSource) -> None:
        source.refresh_watches()
        polls_too = needs_polling(self._root)
        self.mode = "polling" if polls_too else "watching"
        self._notifier.set_polling(enabled=polls_too)
        self._notifier.report((), needs_rescan=True)

    def _fall_back_to_polling(self, error: OSError) -> None:
        sentence = explain_watch_error(error, self._root)
        self.mode = "polling"
        self._notifier.set_polling(enabled=True)
        self._notifier.report((), needs_rescan=True)
        if sentence not in self._reported_errors:
            self._reported_errors.add(sentence)
            self._on_error(sentence)

    def _wait_for_root(self) -> None:
        """Say once that everything may be gone, then look whether the root is back."""
        if self._closing.is_set():
            return
        self.mode = "polling"
        self._notifier.set_polling(enabled=False)
        self._notifier.report((), needs_rescan=True)
        # Waits before it looks: a root that comes and goes must not keep a processor busy.
        while not self._closing.wait(ROOT_CHECK_INTERVAL_SECONDS):
            if _get_folder_identity(self._root) is not None:
                return


def _create_source(root: str, skip_folder: Callable[[str], bool] | None) -> EventSource:
    if ON_LINUX:
        return InotifySource(root, skip_folder)
    return WatchdogSource(root, skip_folder)


def _get_folder_identity(folder: Path) -> tuple[int, int] | None:
    """Which folder that is, whatever its name; None if there is none."""
    try:
        status = folder.stat()
    except OSError:  # gone, unmounted, out of reach: nothing to watch in any case
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISDIR(status.st_mode) else None
