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
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from codekernel.watching.debounce import (
    DEFAULT_TIMINGS,
    GUARD_CHANGED,
    ChangedPaths,
    ChangeNotifier,
    WatchTimings,
)
from codekernel.watching.event_source import WatchdogSource
from codekernel.watching.inotify_source import InotifySource
from codekernel.watching.polling import needs_polling

EventSource = InotifySource | WatchdogSource

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

# Closing waits this long, in all, for threads that are busy, then leaves them to end by themselves.
CLOSE_TIMEOUT_SECONDS = 0.15


class FileWatcher:
    """Calls ``notify``, on threads of its own, with what changed below ``root``.

    A rescan is notified once watching is complete. The callbacks must not raise. Folders for which
    ``skip_folder`` (called on another thread, with a relative path) is true are not watched; when
    its answers change, call ``refresh_watches``. Links are not followed, and a git folder outside
    the root (a worktree's, a submodule's) is not watched.
    """

    def __init__(
        self,
        root: Path,
        notify: Callable[[ChangedPaths], None],
        *,
        on_error: Callable[[str], None],
        skip_folder: Callable[[str], bool] | None = None,
        timings: WatchTimings = DEFAULT_TIMINGS,
    ) -> None:
        self.mode: Literal["watching", "polling"] = "watching"
        self._root = root
        self._notify = notify
        self._on_error = on_error
        self._timings = timings
        self._skip_folder = skip_folder
        self._reported_errors: set[str] = set()
        self._notifier = ChangeNotifier(notify, timings)
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
        """Ask ``skip_folder`` again for all folders; a rescan is notified when that is done."""
        with self._source_lock:
            self._refresh_requested.set()
            if self._source is not None:
                self._source.wake()

    def guard_folders(self, folders: Sequence[Path]) -> bool:
        """Also watch the files in these folders, instead of earlier ones; false if that fails.

        A change there is notified as GUARD_CHANGED. The folders are forgotten when the root is lost
        or watching fails, which a rescan follows.
        """
        if any(map(needs_polling, folders)):
            return False
        with self._source_lock:
            return self._source is not None and self._source.guard_folders(folders)

    def close(self) -> None:
        """Notify nothing any more and end the threads."""
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
                    self._closing.wait(self._timings.retry)
                    continue
            self._wait_for_root()

    def _watch(self) -> None:
        """Report events until the root is another folder or none."""
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
                events = source.wait(None if source.reports_root else self._timings.root_check)
                if events.is_root_lost:
                    return
                if events.paths or events.needs_rescan:
                    self._notifier.report(events.paths, needs_rescan=events.needs_rescan)
                if events.is_guard_changed and not self._closing.is_set():
                    self._notify(GUARD_CHANGED)
        finally:
            with self._source_lock:
                self._source = None
            source.close()

    def _start_source(self, source: EventSource) -> None:
        source.refresh_watches()
        polls = needs_polling(self._root)
        self.mode = "polling" if polls else "watching"
        self._notifier.set_polling(enabled=polls)
        self._notifier.report((), needs_rescan=True)

    def _fall_back_to_polling(self, error: OSError) -> None:
        message = explain_watch_error(error, self._root)
        self.mode = "polling"
        self._notifier.set_polling(enabled=True)
        self._notifier.report((), needs_rescan=True)
        if message not in self._reported_errors:
            self._reported_errors.add(message)
            self._on_error(message)

    def _wait_for_root(self) -> None:
        """Report once that everything may be gone, then wait until the root is back."""
        if self._closing.is_set():
            return
        self.mode = "polling"
        self._notifier.set_polling(enabled=False)
        self._notifier.report((), needs_rescan=True)
        # Waits before it looks: a root that comes and goes must not keep a processor busy.
        while not self._closing.wait(self._timings.root_check):
            if _get_folder_identity(self._root) is not None:
                return


def _create_source(root: str, skip_folder: Callable[[str], bool] | None) -> EventSource:
    if ON_LINUX:
        return InotifySource(root, skip_folder)
    return WatchdogSource(root, skip_folder)


def _get_folder_identity(folder: Path) -> tuple[int, int] | None:
    """Return device and inode of a folder; None if there is none."""
    try:
        status = folder.stat()
    except OSError:  # gone, unmounted, out of reach: nothing to watch in any case
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISDIR(status.st_mode) else None
