"""The store of a team: a folder, or a bucket of S3, Google Cloud or Azure.

Objects are immutable and named by their content, so that the store needs no conditional writes.
Each request has a time limit, also in a folder on a network drive that hangs, and each failure
becomes a StoreUnavailable that tells a person why.
"""

import configparser
import queue
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from codekernel.errors import InvalidSettings, StorageError

if TYPE_CHECKING:  # takes 16 MB of memory: imported when a store is used
    from obstore.store import ObjectStore as ObstoreStore

REQUEST_TIMEOUT_SECONDS = 10.0
CONNECT_TIMEOUT_SECONDS = 2.0

# The largest object that is sent has 8 MB: 15 s at 4 Mbit/s.
UPLOAD_TIMEOUT_SECONDS = 30.0

# A large object may take longer; below this it would take hours.
MIN_UPLOAD_BYTES_PER_SECOND = 500_000

Result = TypeVar("Result")


class StoreUnavailable(StorageError):
    """The team's store cannot be used now; the message says why."""


class ObjectMissing(StoreUnavailable):
    """An object that was listed is gone."""


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object as a listing shows it; ``modified_at`` in seconds since 1970."""

    name: str
    size: int
    modified_at: float


@dataclass(frozen=True, slots=True)
class StorePlace:
    """Where a store is: its address, and for a bucket how to reach it.

    ``credentials`` are those of the vault; without them the environment is asked.
    """

    address: str
    endpoint: str = ""
    region: str = ""
    credentials: str = ""


class ObjectStore:
    """Used by any thread. All methods raise StoreUnavailable."""

    def __init__(self, place: StorePlace, environ: Mapping[str, str]) -> None:
        """Contact nothing yet."""
        self.place = place
        self._environ = environ
        self._opened: ObstoreStore | None = None
        self._lock = threading.Lock()

    def list_objects(
        self, prefix: str, timeout_seconds: float = REQUEST_TIMEOUT_SECONDS
    ) -> list[StoredObject]:
        """Return all objects whose names begin with ``prefix``, which ends with a slash."""

        def list_all() -> list[StoredObject]:
            pages = self._open().list(prefix)
            return [
                StoredObject(each["path"], each["size"], each["last_modified"].timestamp())
                for page in pages
                for each in page
            ]

        return self._run(list_all, timeout_seconds)

    def read_ranges(
        self,
        name: str,
        ranges: Sequence[tuple[int, int]],
        timeout_seconds: float = REQUEST_TIMEOUT_SECONDS,
    ) -> list[bytes]:
        """Return these parts of an object, each from its first byte up to its end.

        Raises ObjectMissing.
        """
        starts, ends = zip(*ranges, strict=True)

        def read() -> "list[bytes]":
            # Neighbours were joined by the caller, who knows what a gap may cost.
            found = self._open().get_ranges(name, starts=starts, ends=ends, coalesce=0)
            return [bytes(each) for each in found]

        return self._run(read, timeout_seconds)

    def read(self, name: str, timeout_seconds: float = UPLOAD_TIMEOUT_SECONDS) -> bytes:
        """Return a whole object. Raises ObjectMissing."""
        return self._run(lambda: bytes(self._open().get(name).bytes()), timeout_seconds)

    def write(
        self, name: str, content: bytes, timeout_seconds: float = UPLOAD_TIMEOUT_SECONDS
    ) -> None:
        """Write an object; one that is there has the same content."""
        self._run(lambda: self._open().put(name, content, use_multipart=False), timeout_seconds)

    def create(self, name: str, content: bytes) -> bool:
        """Write an object unless there is one of that name; return whether there was none."""

        def create() -> bool:
            opened = self._open()
            exists: type[Exception] = import_module("obstore.exceptions").AlreadyExistsError
            try:
                opened.put(name, content, mode="create", use_multipart=False)
            except exists:
                return False
            return True

        return self._run(create, REQUEST_TIMEOUT_SECONDS)

    def write_file(self, name: str, path: Path) -> None:
        """Write an object of any size, in parts; it is there when all of it is."""
        slowest = path.stat().st_size / MIN_UPLOAD_BYTES_PER_SECOND
        self._run(lambda: self._open().put(name, path), UPLOAD_TIMEOUT_SECONDS + slowest)

    def delete(self, name: str, timeout_seconds: float = REQUEST_TIMEOUT_SECONDS) -> None:
        """Delete an object, if it is there."""

        def delete() -> None:
            try:
                self._open().delete(name)
            except FileNotFoundError:
                return

        self._run(delete, timeout_seconds)

    def _open(self) -> "ObstoreStore":
        with self._lock:
            if self._opened is None:
                self._opened = _open_store(self.place, self._environ)
            return self._opened

    def _run(self, request: Callable[[], Result], timeout_seconds: float) -> Result:
        """Run a request; one that hangs is left behind on its thread."""
        answers: queue.SimpleQueue[tuple[Result | None, BaseException | None]] = queue.SimpleQueue()

        def run() -> None:
            try:
                answers.put((request(), None))
            except BaseException as error:  # noqa: BLE001 - raised again below
                answers.put((None, error))

        threading.Thread(target=run, name="team-store", daemon=True).start()
        try:
            answer, error = answers.get(timeout=timeout_seconds)
        except queue.Empty:
            seconds = f"{timeout_seconds:.0f} s" if timeout_seconds >= 1 else "the time it has"
            reason = f"it has not answered within {seconds}"
            raise StoreUnavailable(self._describe(reason)) from None
        if error is None:
            return answer  # type: ignore[return-value]
        if isinstance(error, StorageError | InvalidSettings):
            raise error
        kind = StoreUnavailable
        if isinstance(error, FileNotFoundError) and "NoSuchBucket" not in str(error):
            kind = ObjectMissing
        raise kind(self._describe(explain_failure(str(error)))) from error

    def _describe(self, reason: str) -> str:
        return f"The team's store {self.place.address} cannot be used: {reason}"


# What the stores say, as XML, JSON or an error of the system, and what it means. The first that
# is found counts.
_EXPLANATIONS = (
    (r"SignatureDoesNotMatch", "the secret key is wrong"),
    (r"InvalidAccessKeyId", "it does not know the access key"),
    (r"RequestTimeTooSkewed", "the clock of this machine is wrong by more than 15 minutes"),
    (r"NoSuchBucket|The specified bucket does not exist", "there is no such bucket"),
    (r"ContainerNotFound", "there is no such container"),
    (r"AuthenticationFailed|\b401 Unauthorized", "it does not accept the key"),
    (r"ExpiredToken|TokenExpired", "the key has expired"),
    (
        r"QuotaExceeded|InsufficientStorage|StorageFull|\b507 |os error (?:28|112|122)\b",
        "it is full",
    ),
    (r"AccessDenied|AuthorizationFailure|\b403 Forbidden", "the key has no right to do this there"),
    (r"os error (?:1|5|13)\b|Permission denied", "permission is denied"),
    (r"Read-only file system|os error 19\b", "it can only be read"),
    (r"UnableToCanonicalize|Unable to canonicalize", "there is no such folder; is it mounted?"),
    (r"kind: Timeout", "it does not answer in time"),
    (r"kind: Connect", "nothing answers at its address"),
    (r"SlowDown|\b503 |\b429 ", "it has too much to do"),
    (r"\b5\d\d [A-Z]", "it fails by itself, perhaps because it is full"),
)


def explain_failure(text: str) -> str:
    """Return why a request failed, in words a person understands."""
    for pattern, meaning in _EXPLANATIONS:
        if re.search(pattern, text):
            return meaning
    first_line = text.partition("\n")[0]
    return first_line[:300]


# Any of these in the environment means that the usual chain of the provider finds a key. Without
# one the library would ask the metadata service of the machine, a host that nobody configured.
_CREDENTIAL_VARIABLES = {
    "s3": (
        "AWS_ACCESS_KEY_ID",
        "AWS_WEB_IDENTITY_TOKEN_FILE",
        "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
        "AWS_CONTAINER_CREDENTIALS_FULL_URI",
    ),
    "gs": (
        "GOOGLE_APPLICATION_CREDENTIALS",
        "GOOGLE_SERVICE_ACCOUNT",
        "GOOGLE_SERVICE_ACCOUNT_KEY",
    ),
    "az": (
        "AZURE_STORAGE_ACCOUNT_KEY",
        "AZURE_STORAGE_ACCESS_KEY",
        "AZURE_STORAGE_SAS_TOKEN",
        "AZURE_STORAGE_SAS_KEY",
        "AZURE_CLIENT_ID",
    ),
}


def _open_store(place: StorePlace, environ: Mapping[str, str]) -> "ObstoreStore":
    """Raises StoreUnavailable, or what the library raises."""
    from obstore import store as stores  # noqa: PLC0415 - 16 MB, for a team alone

    parts = urlsplit(place.address)
    if parts.scheme not in _CREDENTIAL_VARIABLES:
        return stores.LocalStore(place.address)
    options: dict[str, Any] = {
        "prefix": parts.path.strip("/") or None,
        "client_options": {
            "timeout": timedelta(seconds=UPLOAD_TIMEOUT_SECONDS),
            "connect_timeout": timedelta(seconds=CONNECT_TIMEOUT_SECONDS),
            "allow_http": place.endpoint.startswith("http://"),
        },
        # Its caller decides about another try; the default would go on for three minutes.
        "retry_config": {"max_retries": 0},
    }
    options |= find_credentials(parts.scheme, place, environ)
    if parts.scheme == "gs":
        return stores.GCSStore(parts.netloc, **options)
    if place.endpoint:
        options["endpoint"] = place.endpoint
    if parts.scheme == "az":
        return stores.AzureStore(parts.netloc, **options)
    region = place.region or environ.get("AWS_REGION") or environ.get("AWS_DEFAULT_REGION")
    return stores.S3Store(parts.netloc, region=region or "us-east-1", **options)


def find_credentials(scheme: str, place: StorePlace, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the credentials of the vault, or of the files of the provider.

    None of them if the environment has some, which the library reads itself.
    """
    if place.credentials and scheme != "gs":  # whose keys are files
        return _parse_credentials(scheme, place.credentials)
    if any(environ.get(name) for name in _CREDENTIAL_VARIABLES[scheme]):
        return {}
    home = Path(environ.get("HOME") or environ.get("USERPROFILE") or Path.home())
    if scheme == "s3" and (found := _read_aws_file(home, environ)):
        return found
    default_file = home / ".config" / "gcloud" / "application_default_credentials.json"
    if scheme == "gs" and default_file.is_file():
        return {"application_credentials": str(default_file)}
    advice = "" if scheme == "gs" else " codekernel key set sharing:credentials, or"
    raise StoreUnavailable(
        f"The team's store {place.address} cannot be used: there is no key for it."
        f"{advice} set {_CREDENTIAL_VARIABLES[scheme][0]}"
    )


def _parse_credentials(scheme: str, text: str) -> dict[str, str]:
    """Split what the vault has: ``access key:secret key``, or ``account:key`` of Azure."""
    first, separator, second = text.partition(":")
    if not separator:
        raise StoreUnavailable(
            "sharing:credentials in the vault must be an access key and a secret key, with a colon"
            " between them"
        )
    if scheme == "az":
        return {"account_name": first, "account_key": second}
    return {"access_key_id": first, "secret_access_key": second}


def _read_aws_file(home: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the keys of the profile in ~/.aws/credentials."""
    path = Path(environ.get("AWS_SHARED_CREDENTIALS_FILE") or home / ".aws" / "credentials")
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read(path, encoding="utf-8")
    except (configparser.Error, UnicodeDecodeError):
        return {}
    profile = environ.get("AWS_PROFILE") or "default"
    if not parser.has_option(profile, "aws_secret_access_key"):
        return {}
    section = parser[profile]
    found = {
        "access_key_id": section.get("aws_access_key_id", ""),
        "secret_access_key": section["aws_secret_access_key"],
        "session_token": section.get("aws_session_token", ""),
    }
    return {name: value for name, value in found.items() if value}
