"""Watch a repository by events, polling or both, and notify changes on one thread.

Changed paths are debounced into one notification; a burst of many paths becomes a rescan. Explain
to the user when the system refuses to watch. Falls back to polling, retries later and waits for a
vanished root to return.
"""

import errno
import os
import stat
import sys
import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from codekernel.watching.event_source import ChangedPaths, InotifySource
from codekernel.watching.polling import needs_polling

if sys.platform == "linux":
    SystemSource = InotifySource
else:
    from codekernel.watching.watchdog_source import WatchdogSource

    SystemSource = WatchdogSource

if TYPE_CHECKING:
    from codekernel.watching.watchdog_source import WatchdogSource

OpenSource: TypeAlias = "Callable[[str], InotifySource | WatchdogSource]"

# A save is several events within a few milliseconds (write a temporary file, flush, rename); this
# much silence says that it is over. It is waited for at each save, of which a commit takes the rest
# of 100 ms on an idle machine; what comes later is a second, small commit.
DEBOUNCE_SECONDS = 0.02

# More files than a person saves at once are written by a tool, which goes on writing: a checkout of
# 2,000 files was indexed in 32 parts, with a commit or three of each, and is in 3 to 5.
MAX_SAVED_PATHS = 8
BURST_DEBOUNCE_SECONDS = 0.15

# Something that writes without pause must not keep the news back for ever.
MAX_DEBOUNCE_SECONDS = 0.5

# A person's save touches a few files, a format-on-save of a project some dozens. Beyond this, one
# walk of the repository is cheaper than asking for each path, and nothing need be remembered.
MAX_CHANGED_PATHS = 300


@dataclass(frozen=True, slots=True)
class WatchTimings:
    """Intervals of a watcher, in seconds; tests shorten them."""

    # How often to check that the root is the same folder, where the system does not report that.
    root_check: float = 2.0
    # How long after a failure to try again: someone may have raised the limit, or closed an editor.
    retry: float = 300.0
    # In a storm (a checkout, an unpacking) rescans are at least this far apart.
    min_rescan: float = 1.0
    # A scan of a hundred thousand unchanged files may take seconds.
    poll: float = 5.0


DEFAULT_TIMINGS = WatchTimings()

GUARD_CHANGED = ChangedPaths(is_guard_changed=True)


class Debouncer:
    """Collects paths until no more come for a moment."""

    def __init__(self, min_rescan_interval: float = DEFAULT_TIMINGS.min_rescan) -> None:
        self._min_rescan_interval = min_rescan_interval
        self._paths: set[str] = set()
        self._needs_rescan = self._is_burst = False
        self._first_at: float | None = None
        self._last_at = 0.0
        self._last_rescan_at = float("-inf")

    def add(self, paths: Collection[str], now: float, *, needs_rescan: bool = False) -> None:
        """Add paths that changed ``now``; ``needs_rescan`` if any other path may have too."""
        if not (paths or needs_rescan):
            return
        self._paths.update(paths)
        self._is_burst |= len(self._paths) > MAX_SAVED_PATHS
        self._needs_rescan |= needs_rescan or len(self._paths) > MAX_CHANGED_PATHS
        if self._needs_rescan:
            self._paths.clear()
        self._first_at = now if self._first_at is None else self._first_at
        self._last_at = now

    def get_due_time(self) -> float | None:
        """Return when ``take_due`` has something, if no more comes."""
        if self._first_at is None:
            return None
        silence = BURST_DEBOUNCE_SECONDS if self._is_burst else DEBOUNCE_SECONDS
        due = min(self._last_at + silence, self._first_at + MAX_DEBOUNCE_SECONDS)
        next_rescan = self._last_rescan_at + self._min_rescan_interval
        return max(due, next_rescan) if self._needs_rescan else due

    def take_due(self, now: float) -> ChangedPaths | None:
        """Return what is due ``now``, merged; None if nothing is."""
        due = self.get_due_time()
        if due is None or now < due:
            return None
        changes = ChangedPaths(frozenset(self._paths), self._needs_rescan)
        if self._needs_rescan:
            self._last_rescan_at = now
        self._paths.clear()
        self._needs_rescan = self._is_burst = False
        self._first_at = None
        return changes


class ChangeNotifier:
    """Debounces what any thread reports and calls ``notify``, one call at a time."""

    def __init__(
        self, notify: Callable[[ChangedPaths], None], timings: WatchTimings = DEFAULT_TIMINGS
    ) -> None:
        self._notify = notify
        self._debouncer = Debouncer(timings.min_rescan)
        self._poll_interval = timings.poll
        self._next_poll: float | None = None
        self._is_closed = False
        self._condition = threading.Condition()
        self.thread = threading.Thread(target=self._run, name="changes", daemon=True)

    def report(self, paths: Collection[str], *, needs_rescan: bool = False) -> None:
        """Report that these paths changed, or that anything may have."""
        with self._condition:
            is_idle = self._debouncer.get_due_time() is None
            self._debouncer.add(paths, time.monotonic(), needs_rescan=needs_rescan)
            if is_idle:  # else the thread already waits for no later moment
                self._condition.notify()

    def set_polling(self, *, enabled: bool) -> None:
        """Also notify a rescan every few seconds, or no longer."""
        with self._condition:
            if not enabled:
                self._next_poll = None
            elif self._next_poll is None:
                self._next_poll = time.monotonic() + self._poll_interval
            self._condition.notify()

    def close(self) -> None:
        """Begin no further call of ``notify``."""
        with self._condition:
            self._is_closed = True
            self._condition.notify()

    def _run(self) -> None:
        while (changes := self._wait()) is not None:
            self._notify(changes)
            # The interval is between the end of one scan and the next, if ``notify`` scans.
            with self._condition:
                if changes.needs_rescan and self._next_poll is not None:
                    self._next_poll = time.monotonic() + self._poll_interval

    def _wait(self) -> ChangedPaths | None:
        with self._condition:
            while not self._is_closed:
                now = time.monotonic()
                if self._next_poll is not None and now >= self._next_poll:
                    self._next_poll = now + self._poll_interval
                    self._debouncer.add((), now, needs_rescan=True)
                if changes := self._debouncer.take_due(now):
                    return changes
                times = [self._debouncer.get_due_time(), self._next_poll]
                known = [each for each in times if each is not None]
                self._condition.wait(min(known) - now if known else None)
        return None


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


# Closing waits this long, in all, for threads that are busy, then leaves them to end by themselves.
CLOSE_TIMEOUT_SECONDS = 0.15


class FileWatcher:
    """Calls ``notify``, on threads of its own, with what changed below ``root``.

    A rescan is notified once watching is complete. The callbacks must not raise. Folders that the
    source skips (its ``skip_folder`` is called on another thread, with a relative path) are not
    watched; when its answers change, call ``refresh_watches``. Links are not followed, and a git
    folder outside the root (a worktree's, a submodule's) is not watched.
    """

    def __init__(
        self,
        root: Path,
        notify: Callable[[ChangedPaths], None],
        *,
        on_error: Callable[[str], None],
        timings: WatchTimings = DEFAULT_TIMINGS,
        open_source: OpenSource = SystemSource,
    ) -> None:
        self.mode: Literal["watching", "polling"] = "watching"
        self._root = root
        self._notify = notify
        self._on_error = on_error
        self._timings = timings
        self._open_source = open_source
        self._reported_errors: set[str] = set()
        self._notifier = ChangeNotifier(notify, timings)
        self._closing = threading.Event()
        self._refresh_requested = threading.Event()
        # Guards the source against being woken while it is replaced.
        self._source_lock = threading.Lock()
        self._source: InotifySource | WatchdogSource | None = None
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
            source = self._source = self._open_source(os.fspath(self._root))
            if self._closing.is_set():
                source.stop()
        try:
            self._refresh_requested.set()
            while not self._closing.is_set() and _get_folder_identity(self._root) == identity:
                if self._refresh_requested.is_set():
                    self._refresh_requested.clear()
                    source.refresh_watches()
                    polls = needs_polling(self._root)
                    self._request_rescan("polling" if polls else "watching", polls=polls)
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

    def _request_rescan(self, mode: Literal["watching", "polling"], *, polls: bool) -> None:
        self.mode = mode
        self._notifier.set_polling(enabled=polls)
        self._notifier.report((), needs_rescan=True)

    def _fall_back_to_polling(self, error: OSError) -> None:
        message = explain_watch_error(error, self._root)
        self._request_rescan("polling", polls=True)
        if message not in self._reported_errors:
            self._reported_errors.add(message)
            self._on_error(message)

    def _wait_for_root(self) -> None:
        """Report once that everything may be gone, then wait until the root is back."""
        if self._closing.is_set():
            return
        self._request_rescan("polling", polls=False)
        # Waits before it looks: a root that comes and goes must not keep a processor busy.
        while not self._closing.wait(self._timings.root_check):
            if _get_folder_identity(self._root) is not None:
                return


def _get_folder_identity(folder: Path) -> tuple[int, int] | None:
    """Return device and inode of a folder; None if there is none."""
    try:
        status = folder.stat()
    except OSError:  # gone, unmounted, out of reach: nothing to watch in any case
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISDIR(status.st_mode) else None
