"""The errors of the kernel and their status codes.

KernelError               UNKNOW_ERROR
  WrongParam              WRONG_PARAM
  InvalidType             INVALID_TYPE
  SessionNotFound         SESSION_NOT_FOUND
  SessionExists           SESSION_EXISTS
  SessionBusy             SESSION_BUSY
  PermissionAnswered      PERMISSION_ANSWERED
  MachineNotFound         UNKNOW_ERROR
  MachineOffline          UNKNOW_ERROR
  RepoNotFound            REPO_NOT_FOUND
  RepoNotExist            REPO_NOT_EXIST
  InvalidPath             INVALID_PATH
  RepoNameNotMatch        REPO_NAME_NOT_MATCH
  RepoNameExist           REPO_NAME_EXIST
  InvalidSettings         INVALID_SETTINGS
  ApiKeyNotFound          API_KEY_NOT_FOUND
  TestFailed              TESST_FAILED
  NetworkError            NETWORK_ERROR
    ToolsRefused          NETWORK_ERROR
    ContextTooLong        NETWORK_ERROR
  StorageError            UNKNOW_ERROR
    VaultUnavailable      UNKNOW_ERROR
  InvalidModel            UNKNOW_ERROR
  Cancelled               UNKNOW_ERROR
  Overloaded              UNKNOW_ERROR
  Stopping                UNKNOW_ERROR
  EndpointUnavailable     UNKNOW_ERROR
  KernelUnavailable       UNKNOW_ERROR
    KernelNotRunning      UNKNOW_ERROR
    KernelRetired         UNKNOW_ERROR
  RefusedByKernel         UNKNOW_ERROR

An error's message is shown to a person: what is wrong, what to do, and never a key.
Errors are raised where the fact is known and become a status in ``dispatch/dispatcher.py`` alone.

The codes are the words of the front end's document, its misspellings included (UNKNOW_ERROR,
TESST_FAILED, and REPO_NAME_EXIST without its S): clients compare them letter by letter, so they are
kept here, once, and never corrected.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import ClassVar


SUCCESS = "SUCCESS"


class KernelError(Exception):
    """The root; raised itself only where no subclass fits."""

    code: ClassVar[str] = "UNKNOW_ERROR"

    def __init_subclass__(cls, code: str = "") -> None:
        cls.code = code or cls.code


class WrongParam(KernelError, code="WRONG_PARAM"):
    """A message that is malformed, or a field of it that is missing or of the wrong kind."""


class InvalidType(KernelError, code="INVALID_TYPE"):
    """An unknown message type."""


class SessionNotFound(KernelError, code="SESSION_NOT_FOUND"):
    """No session has this id, or the session ended before it could answer."""


class SessionExists(KernelError, code="SESSION_EXISTS"):
    """The session id already has a repository open."""


class SessionBusy(KernelError, code="SESSION_BUSY"):
    """The agent of a session works, and what was asked for must wait until it has ended."""


class PermissionAnswered(KernelError, code="PERMISSION_ANSWERED"):
    """A permission that no longer waits: another device has answered it, or the turn has ended."""


class MachineNotFound(KernelError):
    """No machine has this id at the hub."""


class MachineOffline(KernelError):
    """The machine that has a session is not connected to the hub at the moment."""


class RepoNotFound(KernelError, code="REPO_NOT_FOUND"):
    """No repository is registered under this name."""


class RepoNotExist(KernelError, code="REPO_NOT_EXIST"):
    """The repository is registered, but its folder is gone."""


class InvalidPath(KernelError, code="INVALID_PATH"):
    """A path that cannot be a repository, or one in it that is no text file to be shown."""


class RepoNameNotMatch(KernelError, code="REPO_NAME_NOT_MATCH"):
    """The repository name is not the name of its folder."""


class RepoNameExist(KernelError, code="REPO_NAME_EXIST"):
    """Another repository is registered under this name."""


class InvalidSettings(KernelError, code="INVALID_SETTINGS"):
    """Settings that break a rule; the message names the key and the reason."""


class ApiKeyNotFound(KernelError, code="API_KEY_NOT_FOUND"):
    """No API key is stored under this name."""


class TestFailed(KernelError, code="TESST_FAILED"):
    """The model endpoint did not accept a test call."""

    __test__ = False  # not a test case, whatever pytest thinks of its name


class NetworkError(KernelError, code="NETWORK_ERROR"):
    """A model endpoint could not be reached or refused the request."""


class ToolsRefused(NetworkError):
    """A model endpoint that does not support tools; the same request without them may succeed."""


class ContextTooLong(NetworkError):
    """More was sent than the model can read; a shorter request may succeed."""


class StorageError(KernelError):
    """Something under userData cannot be read or written."""


class VaultUnavailable(StorageError):
    """The encrypted database cannot be opened now."""


class InvalidModel(KernelError):
    """A folder that is not a usable model; the message names what is missing or broken."""


class Cancelled(KernelError):
    """Work that was stopped because its result is not needed any more."""


class Overloaded(KernelError):
    """Too many requests are waiting."""


class Stopping(KernelError):
    """The kernel is stopping and accepts no more work."""


class EndpointUnavailable(KernelError):
    """The local endpoint, by which clients share a kernel, cannot be used."""


class KernelUnavailable(KernelError):
    """The shared kernel cannot be started, or has ended."""


class KernelNotRunning(KernelUnavailable):
    """No kernel serves this userData folder, and none was to be started."""


class KernelRetired(KernelUnavailable):
    """An older kernel has made room for one of the version of its client."""


class RefusedByKernel(KernelError):
    """The kernel answered a request of this process with an error; ``status`` is its code."""

    def __init__(self, message: str, status: str) -> None:
        super().__init__(message)
        self.status = status
