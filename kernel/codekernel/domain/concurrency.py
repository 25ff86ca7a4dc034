"""Thread coordination: cancel tokens, pausing and throttling of background work, lazy values.

Reference-counted values, and waiting for the last user before closing.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Generic, Self, TypeVar
from weakref import WeakSet


class CancelToken:
    """Set once, from any thread; long work looks at it between its steps."""

    __slots__ = ("__weakref__", "_callbacks", "_children", "_event", "_lock")

    def __init__(self) -> None:
        self._event = threading.Event()
        self._children: WeakSet[Self] = WeakSet()
        self._callbacks: list[Callable[[], None]] = []
        self._lock = threading.Lock()

    @property
    def is_cancelled(self) -> bool:
        """Whether the work should end now."""
        return self._event.is_set()

    def cancel(self) -> None:
        """Ask the work to end; asking twice is harmless."""
        self._event.set()
        with self._lock:
            children, told = tuple(self._children), tuple(self._callbacks)
        for tell in told:
            tell()
        for child in children:
            child.cancel()

    def create_child(self) -> Self:
        """A token for a part of the work: cancelled with this one, or by itself."""
        child = type(self)()
        with self._lock:
            self._children.add(child)
        if self.is_cancelled:
            child.cancel()
        return child

    @contextmanager
    def on_cancel(self, callback: Callable[[], None]) -> Iterator[None]:
        """Have ``tell`` called, perhaps twice, if this is cancelled before the end of the block.

        For work that cannot look at the token itself; ``tell`` must not block.
        """
        with self._lock:
            self._callbacks.append(callback)
        try:
            if self.is_cancelled:
                callback()
            yield
        finally:
            with self._lock:
                self._callbacks.remove(callback)

    def wait(self, timeout_seconds: float) -> bool:
        """Sleep unless cancelled first; true if cancelled."""
        return self._event.wait(timeout_seconds)


class PauseSwitch:
    """Begun and lifted from any thread; those who work look at it between two steps."""

    def __init__(self) -> None:
        self._is_paused = False
        self._waiters = 0
        self._step_tokens: WeakSet[CancelToken] = WeakSet()
        self._changed = threading.Condition()

    @property
    def is_paused(self) -> bool:
        """Whether nothing is to be done now."""
        return self._is_paused

    @property
    def has_waiters(self) -> bool:
        """Whether somebody stands still because of it."""
        return self._waiters > 0

    def pause(self) -> None:
        """Have everybody stand still at their next step; a step that can be broken off is."""
        with self._changed:
            self._is_paused = True
            steps = tuple(self._step_tokens)
        for step in steps:
            step.cancel()

    def resume(self) -> None:
        """Let everybody go on."""
        with self._changed:
            self._is_paused = False
            self._changed.notify_all()

    def wake_waiters(self) -> None:
        """Have those who stand look at their cancel token now."""
        with self._changed:
            self._changed.notify_all()

    def wait_if_paused(self, cancel: CancelToken) -> None:
        """Stand still until it is lifted, or until cancelled and woken; called between steps."""
        if not self._is_paused:
            return
        with self._changed:
            self._waiters += 1
            self._changed.wait_for(lambda: not self._is_paused or cancel.is_cancelled)
            self._waiters -= 1

    def create_step_token(self, cancel: CancelToken) -> CancelToken:
        """The token for one long step: cancelled with ``cancel``, and when a pause begins."""
        step = cancel.create_child()
        with self._changed:
            self._step_tokens.add(step)
            too_late = self._is_paused
        if too_late:
            step.cancel()
        return step


# The longest pause before one step of background work: a stream of questions slows it, and never
# stops it.
MAX_YIELD_SECONDS = 0.05

# After a pause so much is done before the next one. With a pause before each file, 2,000 files took
# as many questions: a stream of them held back a checkout of 5,000 files for more than a minute.
MIN_WORK_SECONDS = 0.005


class BackgroundThrottle:
    """Shared by those who answer questions and those who work in the background."""

    def __init__(
        self,
        max_yield_seconds: float = MAX_YIELD_SECONDS,
        min_work_seconds: float = MIN_WORK_SECONDS,
    ) -> None:
        self._max_yield_seconds = max_yield_seconds
        self._min_work_seconds = min_work_seconds
        self._resumed = threading.local()  # each thread of the background, since when it works
        self._running_queries = 0
        self._no_queries = threading.Event()
        self._no_queries.set()
        self._lock = threading.Lock()

    @contextmanager
    def query_running(self) -> Iterator[None]:
        """Within the block a person waits."""
        with self._lock:
            self._running_queries += 1
            self._no_queries.clear()
        try:
            yield
        finally:
            with self._lock:
                self._running_queries -= 1
                if not self._running_queries:
                    self._no_queries.set()

    def yield_to_queries(self) -> None:
        """Wait while a person waits, but not for long, and not soon after the last time."""
        if self._no_queries.is_set():
            return
        resumed_at = getattr(self._resumed, "at", float("-inf"))
        if time.monotonic() - resumed_at >= self._min_work_seconds:
            self._no_queries.wait(self._max_yield_seconds)
            self._resumed.at = time.monotonic()


@dataclass(frozen=True, slots=True)
class WorkControl:
    """What background work looks at between two steps: whether to end, to wait, to stand still."""

    cancel: CancelToken
    throttle: BackgroundThrottle
    pause: PauseSwitch = field(default_factory=PauseSwitch)

    def wait_between_steps(self, *, is_urgent: bool = False) -> None:
        """Stand still in a pause; let pass who asks something, unless somebody waits for us too."""
        if not is_urgent:
            self.throttle.yield_to_queries()
        self.pause.wait_if_paused(self.cancel)


LazyValue = TypeVar("LazyValue")


class Lazy(Generic[LazyValue]):
    """Call it for the value."""

    def __init__(self, factory: Callable[[], LazyValue]) -> None:
        self._factory = factory
        self._values: list[LazyValue] = []
        self._lock = threading.Lock()

    def __call__(self) -> LazyValue:
        """The value, made now if it was not yet."""
        with self._lock:
            if not self._values:
                self._values.append(self._factory())
            return self._values[0]

    def use_if_created(self, use: Callable[[LazyValue], None]) -> None:
        """Use the value if there is one already."""
        with self._lock:
            for value in self._values:
                use(value)


Key = TypeVar("Key")

Value = TypeVar("Value")


class _RefCountedEntry(Generic[Value]):
    """A shared thing and its borrowers; the lock makes a second opener wait for the first."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.values: list[Value] = []
        self.refcount = 0


class RefCounted(Generic[Key, Value]):
    """At most one open value per key."""

    def __init__(self, close: Callable[[Value], None]) -> None:
        self._close = close
        self._entries: dict[Key, _RefCountedEntry[Value]] = {}
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)

    @contextmanager
    def acquire(self, key: Key, open_value: Callable[[], Value]) -> Iterator[Value]:
        """The value of ``key`` for as long as the block lasts."""
        with self._lock:
            entry = self._entries.setdefault(key, _RefCountedEntry())
            entry.refcount += 1
        try:
            with entry.lock:
                if not entry.values:
                    entry.values.append(open_value())
            yield entry.values[0]
        finally:
            self._release(key, entry)

    def list_keys(self) -> set[Key]:
        """Return the keys whose value is open, or being opened or closed."""
        with self._lock:
            return set(self._entries)

    def wait_until_empty(self, timeout_seconds: float) -> bool:
        """Wait until every value is closed; false if that takes longer."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._entries, timeout_seconds)

    def _release(self, key: Key, entry: _RefCountedEntry[Value]) -> None:
        with self._lock:
            entry.refcount -= 1
            if entry.refcount:
                return
        with entry.lock:  # whoever comes while it is being closed waits, then opens it anew
            with self._lock:
                wanted_again = bool(entry.refcount)
            if wanted_again:
                return
            for value in entry.values:
                self._close(value)
            entry.values.clear()
            with self._lock:
                if not entry.refcount and self._entries.get(key) is entry:
                    del self._entries[key]
                    self._changed.notify_all()


class CloseGuard:
    """Any number of threads may be inside at once."""

    def __init__(self) -> None:
        self._active_users = 0
        self._is_closed = False
        self._changed = threading.Condition()

    @contextmanager
    def use(self) -> Iterator[bool]:
        """Whether it is open; if so, it stays open for as long as the block lasts."""
        with self._changed:
            is_open = not self._is_closed
            self._active_users += is_open
        try:
            yield is_open
        finally:
            with self._changed:
                self._active_users -= is_open
                self._changed.notify_all()

    def close(self) -> None:
        """Let nobody in any more and wait for those inside."""
        with self._changed:
            self._is_closed = True
            self._changed.wait_for(lambda: not self._active_users)


# Threads that stream take turns: the more of them, the longer each may go on, or they spend their
# time on taking turns. Fifty conversations took 5.4 to 7.3 s of processor time with the interval of
# serve.py and 3.2 to 3.6 s with ten times it; the median token came 20 to 350 ms late, or 1 to 5.
MAX_SWITCH_INTERVAL_FACTOR = 10


def make_switch_interval_setter(base_seconds: float) -> Callable[[int], None]:
    """Return a function that adapts the switch interval to the number of streams."""

    def share(turns: int) -> None:
        sys.setswitchinterval(base_seconds * min(max(turns, 1), MAX_SWITCH_INTERVAL_FACTOR))

    return share


def start_thread(
    name: str, work: Callable[[], object], on_crash: Callable[[BaseException], object]
) -> threading.Thread:
    """Run ``work`` on a daemon thread; ``on_crash`` gets its exception."""

    def guarded() -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - the guard of this thread: the owner decides
            on_crash(error)

    thread = threading.Thread(target=guarded, name=name, daemon=True)
    thread.start()
    return thread
