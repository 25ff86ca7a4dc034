"""The errors of the kernel and their status codes.

KernelError               UNKNOW_ERROR
  WrongParam              WRONG_PARAM
  InvalidType             INVALID_TYPE
  SessionNotFound         SESSION_NOT_FOUND
  SessionExists           SESSION_EXISTS
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

An error's message is shown to a person: what is wrong, what to do, and never a key.
Errors are raised where the fact is known and become a status in ``dispatch/requests.py`` alone.

The codes are the words of the front end's document, its misspellings included (UNKNOW_ERROR,
TESST_FAILED, and REPO_NAME_EXIST without its S): clients compare them letter by letter, so they are
kept here, once, and never corrected.
"""

from typing import ClassVar

SUCCESS = "SUCCESS"


class KernelError(Exception):
    """The root; raised itself only where no subclass fits."""

    code: ClassVar[str] = "UNKNOW_ERROR"


class WrongParam(KernelError):
    """A message that is malformed, or a field of it that is missing or of the wrong kind."""

    code = "WRONG_PARAM"


class InvalidType(KernelError):
    """An unknown message type."""

    code = "INVALID_TYPE"


class SessionNotFound(KernelError):
    """No session has this id, or the session ended before it could answer."""

    code = "SESSION_NOT_FOUND"


class SessionExists(KernelError):
    """The session id already has a repository open."""

    code = "SESSION_EXISTS"


class RepoNotFound(KernelError):
    """No repository is registered under this name."""

    code = "REPO_NOT_FOUND"


class RepoNotExist(KernelError):
    """The repository is registered, but its folder is gone."""

    code = "REPO_NOT_EXIST"


class InvalidPath(KernelError):
    """A path that cannot be a repository, or one in it that is no text file to be shown."""

    code = "INVALID_PATH"


class RepoNameNotMatch(KernelError):
    """The repository name is not the name of its folder."""

    code = "REPO_NAME_NOT_MATCH"


class RepoNameExist(KernelError):
    """Another repository is registered under this name."""

    code = "REPO_NAME_EXIST"


class InvalidSettings(KernelError):
    """Settings that break a rule; the message names the key and the reason."""

    code = "INVALID_SETTINGS"


class ApiKeyNotFound(KernelError):
    """No API key is stored under this name."""

    code = "API_KEY_NOT_FOUND"


class TestFailed(KernelError):
    """The model endpoint did not accept a test call."""

    __test__ = False  # not a test case, whatever pytest thinks of its name
    code = "TESST_FAILED"


class NetworkError(KernelError):
    """A model endpoint could not be reached or refused the request."""

    code = "NETWORK_ERROR"


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
