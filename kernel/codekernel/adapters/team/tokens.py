"""Static tokens of people and of CI: ``userData/team/tokens.json`` keeps their hashes alone."""

import hashlib
import hmac
import json
import secrets
import threading
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from codekernel.domain.untrusted_text import parse_json
from codekernel.errors import StorageError, WrongParam
from codekernel.storage.safe_files import write_bytes_atomically

# So that scanners for leaked secrets know it.
TOKEN_PREFIX = "ckt_"  # noqa: S105 - only how they begin


@dataclass(frozen=True, slots=True)
class StaticToken:
    """One token; ``sha256`` is that of its text."""

    id: str
    user: str
    sha256: str
    created_at: float


class TokenFile:
    """The tokens as they are now; one that was revoked is refused at once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._stamp: tuple[int, ...] = ()
        self._tokens: dict[str, StaticToken] = {}

    def add(self, user: str) -> str:
        """Return a new token of a user, which is shown this once. Raises StorageError."""
        if not user.strip() or not user.isprintable():
            raise WrongParam("a user has a name")
        number, secret = secrets.token_hex(4), secrets.token_urlsafe(32)
        text = f"{TOKEN_PREFIX}{number}_{secret}"
        with self._lock:
            self._read()
            self._tokens[number] = StaticToken(number, user, _hash(text), time.time())
            self._write()
        return text

    def list_all(self) -> list[StaticToken]:
        """Return the tokens, oldest first. Raises StorageError."""
        with self._lock:
            self._read()
            return sorted(self._tokens.values(), key=lambda each: each.created_at)

    def revoke(self, name: str) -> int:
        """Forget a token by its id, or all of a user; return how many. Raises StorageError."""
        with self._lock:
            self._read()
            gone = [each.id for each in self._tokens.values() if name in {each.id, each.user}]
            for number in gone:
                del self._tokens[number]
            if gone:
                self._write()
        return len(gone)

    def find_user(self, text: str) -> str | None:
        """Return whose token this is; None if it is none of ours."""
        if not text.startswith(TOKEN_PREFIX):
            return None
        with self._lock:
            self._read()
            known = self._tokens.get(text.removeprefix(TOKEN_PREFIX).partition("_")[0])
        is_right = known is not None and hmac.compare_digest(known.sha256, _hash(text))
        return known.user if known and is_right else None

    def _read(self) -> None:
        try:
            found = self._path.stat()
            stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
            if stamp == self._stamp:
                return
            rows = parse_json(self._path.read_bytes())
            self._tokens = {row["id"]: StaticToken(**row) for row in rows}
            self._stamp = stamp
        except FileNotFoundError:
            self._tokens, self._stamp = {}, ()
        except (OSError, ValueError, TypeError, KeyError) as error:
            self._tokens, self._stamp = {}, ()
            raise StorageError(f"{self._path} cannot be read: {error}") from None

    def _write(self) -> None:
        rows = [asdict(each) for each in self._tokens.values()]
        write_bytes_atomically(self._path, json.dumps(rows, indent=1).encode())
        self._stamp = ()


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
