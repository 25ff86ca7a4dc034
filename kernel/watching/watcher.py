"""Learning that files of a repository changed: by events, by looking, or by both.

One thread sets up and reads the system's events (``folders``, ``observer``),
one tells of them (``delivery``). If the system refuses, polling takes over, and watching
is tried again now and then; if the root vanishes, its return is waited for.
"""

import os
import stat
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from kernel.watching.debounce import Changes
from kernel.watching.delivery import Delivery
from kernel.watching.folders import WatchedFolders
from kernel.watching.observer import ObservedTree
from kernel.watching.polling import needs_polling
from kernel.watching.source import Source
from kernel.watching.trouble import explain

__all__ = ["Changes", "Watcher"]

# A variable, so that the type checker reads both branches.
ON_LINUX: bool = sys.platform == "linux"
# How often to see whether the root is still (or again) the same folder: a renamed parent, or a disk
# mounted over it, sends no event. One stat.
ROOT_CHECK_SECONDS = 2.0
# How long after a refusal to try again: someone may have raised the limit, or closed an editor.
RETRY_SECONDS = 300.0
# Closing waits so long, in all, for threads that are busy, then leaves them to end by themselves.
CLOSE_SECONDS = 0.15


class Watcher:
    """Tells ``notify``, on a thread of its own, what changed below ``root``.

    A sweep is told once watching is complete. ``notify`` and ``on_trouble`` must not raise.
    Folders for which ``skip_folder`` (called on another thread, with a relative path) is true are
    not watched; when its answers change, call ``reconsider``. Links are not followed, and a git
    folder outside the root (a worktree's, a submodule's) is not watched.
    """

    def __init__(
        self,
        root: Path,
        notify: Callable[[Changes], None],
        *,
        on_trouble: Callable[[str], None],
        skip_folder: Callable[[str], bool] | None = None,
    ) -> None:
        self.mode: Literal["watching", "polling"] = "watching"
        self._root = root
        self._on_trouble = on_trouble
        self._skip_folder = skip_folder
        self._said: set[str] = set()
        self._delivery = Delivery(notify)
        self._closing = threading.Event()
        self._reconsidering = threading.Event()
        # Guards the source against being woken while it is replaced.
        self._changing_source = threading.Lock()
        self._source: Source | None = None
        self._thread = threading.Thread(target=self._run, name="watching", daemon=True)

    def start(self) -> None:
        """Begin; returns at once, however many folders there are."""
        self._delivery.thread.start()
        self._thread.start()

    def reconsider(self) -> None:
        """Ask ``skip_folder`` anew, for all folders; a sweep is told when that is done."""
        with self._changing_source:
            self._reconsidering.set()
            if self._source is not None:
                self._source.wake()

    def slow_down(self, seconds: float) -> None:
        """Leave this long between two polls, because a sweep takes long; within reason."""
        self._delivery.slow_down(seconds)

    def close(self) -> None:
        """Tell nothing any more and end the threads."""
        with self._changing_source:
            self._closing.set()
            if self._source is not None:
                self._source.stop()
        self._delivery.close()
        until = time.monotonic() + CLOSE_SECONDS
        for thread in (self._thread, self._delivery.thread):
            if thread.is_alive() and thread is not threading.current_thread():
                thread.join(max(0.0, until - time.monotonic()))

    def _run(self) -> None:
        while not self._closing.is_set():
            try:
                self._watch()
            except OSError as error:
                if _identity(self._root) is not None:
                    self._fall_back(error)
                    self._closing.wait(RETRY_SECONDS)
                    continue
            self._wait_for_root()

    def _watch(self) -> None:
        """Set up and tell of events, until the root is another folder or none."""
        identity = _identity(self._root)
        if identity is None:
            return
        with self._changing_source:
            source = self._source = _source(os.fspath(self._root), self._skip_folder)
            if self._closing.is_set():
                source.stop()
        try:
            self._reconsidering.set()
            while not self._closing.is_set() and _identity(self._root) == identity:
                if self._reconsidering.is_set():
                    self._reconsidering.clear()
                    self._set_up(source)
                news = source.wait(ROOT_CHECK_SECONDS)
                if news.lost:
                    return
                self._delivery.report(news.paths, sweep=news.sweep)
        finally:
            with self._changing_source:
                self._source = None
            source.close()

    def _set_up(self, source: Source) -> None:
        source.watch_everything()
        polls_too = needs_polling(self._root)
        self.mode = "polling" if polls_too else "watching"
        self._delivery.poll(on=polls_too)
        self._delivery.report((), sweep=True)

    def _fall_back(self, error: OSError) -> None:
        sentence = explain(error, self._root)
        self.mode = "polling"
        self._delivery.poll(on=True)
        self._delivery.report((), sweep=True)
        if sentence not in self._said:
            self._said.add(sentence)
            self._on_trouble(sentence)

    def _wait_for_root(self) -> None:
        """Say once that everything may be gone, then look whether the root is back."""
        if self._closing.is_set():
            return
        self.mode = "polling"
        self._delivery.poll(on=False)
        self._delivery.report((), sweep=True)
        # Waits before it looks: a root that comes and goes must not keep a processor busy.
        while not self._closing.wait(ROOT_CHECK_SECONDS):
            if _identity(self._root) is not None:
                return


def _source(root: str, skip_folder: Callable[[str], bool] | None) -> Source:
    if ON_LINUX:
        return WatchedFolders(root, skip_folder)
    return ObservedTree(root, skip_folder)


def _identity(folder: Path) -> tuple[int, int] | None:
    """Which folder that is, whatever its name; None if there is none."""
    try:
        status = folder.stat()
    except OSError:  # gone, unmounted, out of reach: nothing to watch in any case
        return None
    return (status.st_dev, status.st_ino) if stat.S_ISDIR(status.st_mode) else None
