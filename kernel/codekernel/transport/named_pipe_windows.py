"""The local endpoint as a named pipe of Windows, which only one account may open.

The pipe has a random name, which stands in the file of the endpoint: nobody can make one of that
name before, and a kernel that hands over leaves its name to the clients it keeps. Pipes carry
messages, because an empty one is the only way to end one direction alone.
"""

import ctypes
import errno
import secrets
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from ctypes.wintypes import BOOL, DWORD, LPVOID, ULONG
from functools import partial
from pathlib import Path

from codekernel.errors import EndpointUnavailable
from codekernel.transport import windows_api

assert sys.platform == "win32"

kernel32, advapi32 = windows_api.kernel32, windows_api.advapi32

# While all instances of a pipe are taken, another one is being made.
CONNECT_TIMEOUT_SECONDS, RETRY_INTERVAL_SECONDS = 5.0, 0.05

_PIPE_PREFIX = "\\\\.\\pipe\\codekernel-"
_MAX_NAME_BYTES = 200
_BUFFER_BYTES = 64 * 1024

_DUPLEX, _FIRST_INSTANCE, _OVERLAPPED = 0x3, 0x00080000, 0x40000000
_READ_MESSAGES, _REJECT_REMOTE, _UNLIMITED_INSTANCES = 0x2, 0x8, 255
_MESSAGES = 0x4 | _READ_MESSAGES
_READ_WRITE, _OPEN_EXISTING = 0x80000000 | 0x40000000, 3
# A pipe of another account may learn who we are, and do nothing in our name.
_IDENTIFY_ONLY = 0x00100000 | 0x00010000
_QUERY_PROCESS, _SDDL_REVISION = 0x1000, 1

_BROKEN_PIPE, _PIPE_BUSY, _NO_DATA = 109, 231, 232
_NOT_CONNECTED, _ALREADY_CONNECTED = 233, 535
_END_CODES = {_BROKEN_PIPE, _NO_DATA, _NOT_CONNECTED}


class _SecurityAttributes(ctypes.Structure):
    _fields_ = (("length", DWORD), ("descriptor", LPVOID), ("is_inherited", BOOL))


class _UsedHandle:
    """A handle that is closed when the last thread has left it."""

    def __init__(self, handle: int, *directions: windows_api.PipeDirection) -> None:
        self._handle = handle
        self._directions = directions
        self._lock = threading.Lock()
        self._user_count = 0
        self._is_closed = False

    @contextmanager
    def use(self) -> Iterator[int]:
        """Yield the handle. Raises OSError if it is closed."""
        with self._lock:
            if self._is_closed:
                raise OSError(errno.EBADF, "the pipe is closed")
            self._user_count += 1
        try:
            yield self._handle
        finally:
            with self._lock:
                self._user_count -= 1
                self._free_if_unused()

    def close(self) -> None:
        """Interrupt those who use it, and close it after them; harmless if that was done before."""
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
            for direction in self._directions:
                direction.end()
            self._free_if_unused()

    def _free_if_unused(self) -> None:
        if self._is_closed and not self._user_count:
            kernel32.CloseHandle(self._handle)
            for direction in self._directions:
                direction.close()


class NamedPipe:
    """A connected pipe; see LocalPipe."""

    def __init__(self, handle: int) -> None:
        self._reading, self._writing = windows_api.PipeDirection(), windows_api.PipeDirection()
        self._handle = _UsedHandle(handle, self._reading, self._writing)
        self._has_ended = False
        self._timeout_ms = windows_api.FOREVER_MS

    def wait_for_client(self) -> bool:
        """Wait until a client has opened this instance; false if none can."""
        with suppress(OSError), self._handle.use() as handle:
            connect = partial(kernel32.ConnectNamedPipe, handle)
            try:
                return self._reading.run(handle, connect, windows_api.FOREVER_MS) is not None
            except OSError as error:  # it came, or came and went, before we waited
                return error.winerror == _ALREADY_CONNECTED
        return False

    def read(self, size: int) -> bytes:
        """Up to ``size`` bytes as soon as there are any; empty at the end."""
        if self._has_ended:
            return b""
        buffer = ctypes.create_string_buffer(size)
        with self._handle.use() as handle:
            try:
                count = self._reading.run(
                    handle,
                    lambda call: kernel32.ReadFile(handle, buffer, size, None, call),
                    self._timeout_ms,
                )
            except OSError as error:
                if error.winerror not in _END_CODES:
                    raise
                count = 0
        self._has_ended = not count
        return buffer.raw[:count] if count else b""

    def write(self, content: bytes) -> None:
        """Write everything."""
        for first in range(0, len(content), _BUFFER_BYTES):
            self._write_message(content[first : first + _BUFFER_BYTES])

    def _write_message(self, content: bytes) -> None:
        with self._handle.use() as handle:
            count = self._writing.run(
                handle,
                lambda call: kernel32.WriteFile(handle, content, len(content), None, call),
                self._timeout_ms,
            )
        if count is None:
            raise BrokenPipeError(errno.EPIPE, "the pipe is closed")

    def set_timeout(self, seconds: float | None) -> None:
        """Let ``read`` and ``write`` raise TimeoutError after so long; None: never."""
        self._timeout_ms = windows_api.FOREVER_MS if seconds is None else int(seconds * 1000)

    def close_reading(self) -> None:
        """End the reading direction; a thread that reads sees the end."""
        with suppress(OSError), self._handle.use():
            self._reading.end()

    def end_writing(self) -> None:
        """End the writing direction; the other side reads to the end."""
        with suppress(OSError):
            self._write_message(b"")

    def finish_writing(self, timeout_seconds: float) -> None:
        """End the writing direction and wait until the other side has closed too."""
        self.set_timeout(timeout_seconds)
        self.end_writing()
        with suppress(OSError):
            while self.read(_BUFFER_BYTES):
                pass

    def close(self) -> None:
        """End both directions; a thread that reads sees the end."""
        self._handle.close()


class NamedPipeListener:
    """Accepts connections of the own account; the endpoint is removed by ``close``."""

    def __init__(self, path: Path, release_lock: Callable[[], None] = lambda: None) -> None:
        """Listen. Only the holder of the instance lock may: what is there is stale, and replaced.

        ``release_lock`` lets another process listen. Raises EndpointUnavailable.
        """
        self.path = path
        self._release_lock = release_lock
        self._name = _PIPE_PREFIX + secrets.token_hex(16)
        self._closing = threading.Event()
        self._lock = threading.Lock()
        try:
            self._sid = windows_api.read_own_sid()
            self._waiting: NamedPipe | None = NamedPipe(self._make_instance(_FIRST_INSTANCE))
            path.write_text(self._name, encoding="ascii")
        except OSError as error:
            raise EndpointUnavailable(f"{path} cannot be used: {error.strerror}") from error

    def accept(self) -> NamedPipe | None:
        """Wait for the next connection; None once closed. The system refuses other accounts."""
        while waiting := self._prepare_instance():
            is_connected = waiting.wait_for_client()
            with self._lock:
                self._waiting = None
            # Before anything else: without an instance the name would be gone.
            if is_connected and self._prepare_instance():
                return waiting
            waiting.close()
        return None

    def hand_over(self) -> None:
        """Close, and let another process listen."""
        self.close()
        self._release_lock()

    def close(self) -> None:
        """Accept no more, and remove the endpoint unless another kernel has made a new one."""
        with self._lock:
            self._closing.set()
            if self._waiting:
                self._waiting.close()
        with suppress(OSError):
            if self.path.read_text(encoding="ascii") == self._name:
                self.path.unlink()

    def _prepare_instance(self) -> NamedPipe | None:
        """Return the instance for the next client; None once closed."""
        while True:
            with self._lock:
                if self._closing.is_set():
                    return None
                with suppress(OSError):  # the system has no memory left: it may have some later
                    self._waiting = self._waiting or NamedPipe(self._make_instance())
                    return self._waiting
            self._closing.wait(RETRY_INTERVAL_SECONDS)

    def _make_instance(self, flags: int = 0) -> int:
        """Return the handle of a pipe that the own account alone may open."""
        descriptor = LPVOID()
        windows_api.check(
            advapi32.ConvertStringSecurityDescriptorToSecurityDescriptorW(
                f"D:P(A;;GA;;;{self._sid})", _SDDL_REVISION, ctypes.byref(descriptor), None
            )
        )
        try:
            attributes = _SecurityAttributes(
                ctypes.sizeof(_SecurityAttributes), descriptor.value, is_inherited=False
            )
            return windows_api.check_handle(
                kernel32.CreateNamedPipeW(
                    self._name,
                    _DUPLEX | _OVERLAPPED | flags,
                    _MESSAGES | _REJECT_REMOTE,
                    _UNLIMITED_INSTANCES,
                    _BUFFER_BYTES,
                    _BUFFER_BYTES,
                    0,
                    ctypes.byref(attributes),
                )
            )
        finally:
            kernel32.LocalFree(descriptor)


def connect_named_pipe(path: str | Path) -> NamedPipe:
    """Connect to the kernel of this account.

    Raises OSError if none listens, EndpointUnavailable if another account does.
    """
    name = Path(path).read_bytes()[:_MAX_NAME_BYTES].decode("ascii", "replace")
    if not name.startswith(_PIPE_PREFIX):
        raise FileNotFoundError(errno.ENOENT, "it names no pipe", str(path))
    deadline = time.monotonic() + CONNECT_TIMEOUT_SECONDS
    while (handle := _open_pipe(name)) is None:
        if time.monotonic() > deadline:
            raise ctypes.WinError(_PIPE_BUSY)
        kernel32.WaitNamedPipeW(name, int(RETRY_INTERVAL_SECONDS * 1000))
    pipe = NamedPipe(handle)
    if _read_server_sid(handle) != windows_api.read_own_sid():
        pipe.close()
        raise EndpointUnavailable(
            f"{path} leads to a process of another account, so nothing is sent to it: remove it, or"
            " use another folder with --user-data"
        )
    mode = DWORD(_READ_MESSAGES)
    if not kernel32.SetNamedPipeHandleState(handle, ctypes.byref(mode), None, None):
        pipe.close()
        raise BrokenPipeError(errno.EPIPE, "the kernel has ended", str(path))
    return pipe


def _open_pipe(name: str) -> int | None:
    """Return a handle; None while all instances are taken. Raises OSError."""
    handle = kernel32.CreateFileW(
        name, _READ_WRITE, 0, None, _OPEN_EXISTING, _OVERLAPPED | _IDENTIFY_ONLY, None
    )
    if handle == windows_api.INVALID_HANDLE and ctypes.get_last_error() == _PIPE_BUSY:
        return None
    return windows_api.check_handle(handle)


def _read_server_sid(handle: int) -> str:
    """Return the account of the process that made a pipe; empty if it may not be known."""
    process_id = ULONG()
    if not kernel32.GetNamedPipeServerProcessId(handle, ctypes.byref(process_id)):
        return ""
    process = kernel32.OpenProcess(_QUERY_PROCESS, windows_api.FALSE, process_id.value)
    if not process:
        return ""
    try:
        return windows_api.read_process_sid(process)
    except OSError:
        return ""
    finally:
        kernel32.CloseHandle(process)
