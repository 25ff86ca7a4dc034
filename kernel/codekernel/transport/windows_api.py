"""The functions of Windows that the named pipe needs, calls that can be interrupted, accounts."""

import ctypes
import errno
import sys
from collections.abc import Callable
from ctypes.wintypes import BOOL, DWORD, HANDLE, LPCWSTR, LPVOID, LPWSTR
from typing import Any

assert sys.platform == "win32"

FOREVER_MS = 0xFFFFFFFF
MORE_DATA_CODE = 234

_QUERY_TOKEN, _TOKEN_USER = 0x8, 1
_WAIT_TIMEOUT = 0x102
_ABORTED, _PENDING = 995, 997
INVALID_HANDLE = ctypes.c_void_p(-1).value

TRUE, FALSE = 1, 0

kernel32 = ctypes.WinDLL("kernel32", use_last_error=True)
advapi32 = ctypes.WinDLL("advapi32", use_last_error=True)

_FUNCTIONS: tuple[tuple[Any, ...], ...] = (
    (kernel32, "CreateNamedPipeW", HANDLE, LPCWSTR, *[DWORD] * 6, LPVOID),
    (kernel32, "ConnectNamedPipe", BOOL, HANDLE, LPVOID),
    (kernel32, "CreateFileW", HANDLE, LPCWSTR, DWORD, DWORD, LPVOID, DWORD, DWORD, HANDLE),
    (kernel32, "WaitNamedPipeW", BOOL, LPCWSTR, DWORD),
    (kernel32, "SetNamedPipeHandleState", BOOL, HANDLE, LPVOID, LPVOID, LPVOID),
    (kernel32, "GetNamedPipeServerProcessId", BOOL, HANDLE, LPVOID),
    (kernel32, "ReadFile", BOOL, HANDLE, LPVOID, DWORD, LPVOID, LPVOID),
    (kernel32, "WriteFile", BOOL, HANDLE, LPVOID, DWORD, LPVOID, LPVOID),
    (kernel32, "GetOverlappedResult", BOOL, HANDLE, LPVOID, LPVOID, BOOL),
    (kernel32, "CancelIoEx", BOOL, HANDLE, LPVOID),
    (kernel32, "CreateEventW", HANDLE, LPVOID, BOOL, BOOL, LPCWSTR),
    (kernel32, "SetEvent", BOOL, HANDLE),
    (kernel32, "WaitForMultipleObjects", DWORD, DWORD, LPVOID, BOOL, DWORD),
    (kernel32, "CloseHandle", BOOL, HANDLE),
    (kernel32, "LocalFree", LPVOID, LPVOID),
    (kernel32, "GetCurrentProcess", HANDLE),
    (kernel32, "OpenProcess", HANDLE, DWORD, BOOL, DWORD),
    (advapi32, "OpenProcessToken", BOOL, HANDLE, DWORD, LPVOID),
    (advapi32, "GetTokenInformation", BOOL, HANDLE, DWORD, LPVOID, DWORD, LPVOID),
    (advapi32, "ConvertSidToStringSidW", BOOL, LPVOID, LPVOID),
    (
        advapi32,
        "ConvertStringSecurityDescriptorToSecurityDescriptorW",
        BOOL,
        LPCWSTR,
        DWORD,
        LPVOID,
        LPVOID,
    ),
)

for _library, _name, _result, *_arguments in _FUNCTIONS:
    _function = getattr(_library, _name)
    _function.restype, _function.argtypes = _result, _arguments


class _OverlappedCall(ctypes.Structure):
    _fields_ = (
        ("internal", ctypes.c_size_t),
        ("internal_high", ctypes.c_size_t),
        ("offset", DWORD),
        ("offset_high", DWORD),
        ("event", HANDLE),
    )


class PipeDirection:
    """The calls of one direction, one at a time; ``end`` interrupts the present and later ones."""

    def __init__(self) -> None:
        self._done = check_handle(kernel32.CreateEventW(None, TRUE, FALSE, None))
        self._ended = check_handle(kernel32.CreateEventW(None, TRUE, FALSE, None))

    def run(self, handle: int, start: Callable[[LPVOID], int], timeout_ms: int) -> int | None:
        """Return how many bytes were carried; None if the direction was ended.

        Raises OSError, TimeoutError.
        """
        call = _OverlappedCall(event=self._done)
        reference = ctypes.cast(ctypes.pointer(call), LPVOID)
        if not start(reference):
            code = ctypes.get_last_error()
            if code not in {_PENDING, MORE_DATA_CODE}:
                raise ctypes.WinError(code)
        events = (HANDLE * 2)(self._done, self._ended)
        waited = kernel32.WaitForMultipleObjects(2, events, FALSE, timeout_ms)
        if waited != 0:
            kernel32.CancelIoEx(handle, reference)
        count = DWORD()
        # Waits until the system is done with our memory.
        if not kernel32.GetOverlappedResult(handle, reference, ctypes.byref(count), TRUE):
            code = ctypes.get_last_error()
            if code == _ABORTED and waited == _WAIT_TIMEOUT:
                raise TimeoutError(errno.ETIMEDOUT, "the other side does not answer")
            if code == _ABORTED:
                return None
            if code != MORE_DATA_CODE:
                raise ctypes.WinError(code)
        return count.value

    def end(self) -> None:
        """Interrupt."""
        kernel32.SetEvent(self._ended)

    def close(self) -> None:
        """Free the events; nothing runs."""
        kernel32.CloseHandle(self._done)
        kernel32.CloseHandle(self._ended)


def read_own_sid() -> str:
    """Return the account of this process as text."""
    return read_process_sid(kernel32.GetCurrentProcess())


def read_process_sid(process: int) -> str:
    """Return the account of a process as text. Raises OSError."""
    token = HANDLE()
    check(advapi32.OpenProcessToken(process, _QUERY_TOKEN, ctypes.byref(token)))
    try:
        size = DWORD()
        advapi32.GetTokenInformation(token, _TOKEN_USER, None, 0, ctypes.byref(size))
        user = ctypes.create_string_buffer(size.value)
        check(advapi32.GetTokenInformation(token, _TOKEN_USER, user, size, ctypes.byref(size)))
        # TOKEN_USER begins with a pointer to the SID, which lies in the same buffer.
        sid, text = ctypes.cast(user, ctypes.POINTER(LPVOID))[0], LPWSTR()
        check(advapi32.ConvertSidToStringSidW(sid, ctypes.byref(text)))
        try:
            return text.value or ""
        finally:
            kernel32.LocalFree(ctypes.cast(text, LPVOID))
    finally:
        kernel32.CloseHandle(token)


def check(result: int) -> None:
    """Raise OSError if a function has failed."""
    if not result:
        raise ctypes.WinError(ctypes.get_last_error())


def check_handle(handle: int | None) -> int:
    """Return the handle. Raises OSError if it is none."""
    if handle is None or handle == INVALID_HANDLE:
        raise ctypes.WinError(ctypes.get_last_error())
    return handle
