"""Paired devices and machines, the codes by which they are paired, and their tokens.

A key is shown to its device once; the hub keeps its hash. A key has 256 random bits, so that a
plain hash cannot be reversed; it is looked up by its hash, and compared in constant time. A code is
good once, for ten minutes.

A device exchanges its key for a short-lived JWT and sends that with each request. The secret that
signs them is made anew with each start and never leaves the process: after a restart a device
exchanges its key again, as it does when the token has expired.
"""

import hashlib
import ipaddress
import secrets
import sqlite3
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import StrEnum
from itertools import count
from urllib.parse import urlsplit

import jwt

from codekernel.adapters.hub.database import HubDatabase
from codekernel.errors import WrongParam
from codekernel.transport.http_messages import is_same_token, make_token

MAX_NAME_CHARS = 64

MAX_DEVICES = 1_000

_MIGRATIONS = (
    """
CREATE TABLE device (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    key_hash TEXT NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    last_seen_at INTEGER NOT NULL
) STRICT
""",
)

# How often a device is noted as seen.
SEEN_INTERVAL_SECONDS = 60


class DeviceKind(StrEnum):
    """A device uses sessions; a machine offers its own."""

    DEVICE = "device"
    MACHINE = "machine"


@dataclass(frozen=True, slots=True)
class PairedDevice:
    """A device as the list shows it; times are seconds of the epoch."""

    id: str
    name: str
    kind: DeviceKind
    created_at: int
    last_seen_at: int


_SELECT = "SELECT id, name, kind, created_at, last_seen_at, key_hash FROM device"


def hash_secret(secret: str) -> str:
    """Return the hash under which a random key or code is kept."""
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()


class DeviceRegistry:
    """The devices of a hub; each call sees what other processes have changed."""

    def __init__(self, database: HubDatabase, max_devices: int = MAX_DEVICES) -> None:
        self._max_devices = max_devices
        self._database = database
        database.migrate("devices", _MIGRATIONS)

    def add(self, name: str, kind: DeviceKind = DeviceKind.DEVICE) -> tuple[PairedDevice, str]:
        """Add a device; return it and its key. A name that is taken gets a number."""
        with self._database.write() as connection:
            return self.add_within(connection, name, kind)

    def add_within(
        self, connection: sqlite3.Connection, name: str, kind: DeviceKind
    ) -> tuple[PairedDevice, str]:
        """Do the same within a transaction."""
        wanted = " ".join(name.split())[:MAX_NAME_CHARS] or str(kind)
        names = {row[0] for row in connection.execute("SELECT name FROM device")}
        if len(names) >= self._max_devices:
            raise WrongParam("Too many devices are paired: codekernel hub revoke NAME.")
        key, now = make_token(), int(time.time())
        device = PairedDevice(secrets.token_hex(8), _find_free_name(wanted, names), kind, now, now)
        row = (device.id, device.name, str(kind), hash_secret(key), now, now)
        connection.execute("INSERT INTO device VALUES (?, ?, ?, ?, ?, ?)", row)
        return device, key

    def find_by_key(self, key: str) -> PairedDevice | None:
        """Return the device that has a key; note that it was seen."""
        hashed = hash_secret(key)
        with self._database.read() as connection:
            row = connection.execute(f"{_SELECT} WHERE key_hash = ?", (hashed,)).fetchone()
        if row is None or not is_same_token(hashed, row[-1]):
            return None
        device = _make_device(row)
        self._note_seen(device)
        return device

    def find(self, device_id: str) -> PairedDevice | None:
        """Return a device, None if it was revoked."""
        with self._database.read() as connection:
            row = connection.execute(f"{_SELECT} WHERE id = ?", (device_id,)).fetchone()
        return _make_device(row) if row else None

    def list_all(self) -> list[PairedDevice]:
        """Return all devices by name."""
        with self._database.read() as connection:
            rows = connection.execute(f"{_SELECT} ORDER BY name").fetchall()
        return [_make_device(row) for row in rows]

    def revoke(self, name: str) -> bool:
        """Forget a device, by its name or id; return whether there was one."""
        with self._database.write() as connection:
            cursor = connection.execute("DELETE FROM device WHERE name = ?1 OR id = ?1", (name,))
            return cursor.rowcount > 0

    def _note_seen(self, device: PairedDevice) -> None:
        now = int(time.time())
        if now - device.last_seen_at < SEEN_INTERVAL_SECONDS:
            return
        with self._database.write() as connection:
            connection.execute("UPDATE device SET last_seen_at = ? WHERE id = ?", (now, device.id))


def _make_device(row: tuple[str, str, str, int, int, str]) -> PairedDevice:
    device_id, name, kind, created_at, last_seen_at, _ = row
    return PairedDevice(device_id, name, DeviceKind(kind), created_at, last_seen_at)


def _find_free_name(wanted: str, taken: set[str]) -> str:
    if wanted not in taken:
        return wanted
    return next(name for number in count(2) if (name := f"{wanted} {number}") not in taken)


CODE_TTL_SECONDS = 600

# Without letters and digits that look alike; 16 of them have 79 bits.
_ALPHABET = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"

_GROUPS, _GROUP_CHARS = 4, 4

_PAIRING_MIGRATIONS = (
    "CREATE TABLE pairing (code_hash TEXT PRIMARY KEY, expires_at INTEGER NOT NULL) STRICT",
)


class Pairing:
    """Makes codes, and exchanges each for the key of a device once."""

    def __init__(
        self,
        database: HubDatabase,
        devices: DeviceRegistry,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._clock = clock
        self._database = database
        self._devices = devices
        database.migrate("pairing", _PAIRING_MIGRATIONS)

    def make_code(self) -> str:
        """Return a new code; codes that have expired are forgotten."""
        code = "-".join(
            "".join(secrets.choice(_ALPHABET) for _ in range(_GROUP_CHARS)) for _ in range(_GROUPS)
        )
        now = int(self._clock())
        with self._database.write() as connection:
            connection.execute("DELETE FROM pairing WHERE expires_at <= ?", (now,))
            connection.execute(
                "INSERT INTO pairing VALUES (?, ?)", (_hash_code(code), now + CODE_TTL_SECONDS)
            )
        return code

    def redeem(self, code: str, name: str, kind: DeviceKind) -> tuple[PairedDevice, str] | None:
        """Use up a code; return the new device and its key, None if the code is not good."""
        with self._database.write() as connection:
            used = connection.execute(
                "DELETE FROM pairing WHERE code_hash = ? AND expires_at > ?",
                (_hash_code(code), int(self._clock())),
            )
            if used.rowcount != 1:
                return None
            return self._devices.add_within(connection, name, kind)


def _hash_code(code: str) -> str:
    """Return the hash of a code, however its letters and dashes are written."""
    return hash_secret("".join(code.upper().replace("-", "").split()))


TOKEN_TTL_SECONDS = 15 * 60

# The only one: a hub belongs to one person.
NAMESPACE = "default"

_ALGORITHM = "HS256"

_ISSUER = "codekernel-hub"


class AccessTokens:
    """Makes tokens and finds the device of each."""

    def __init__(self, devices: DeviceRegistry, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._devices = devices
        self._secret = secrets.token_bytes(32)

    def make_token(self, device: PairedDevice) -> str:
        """Return a token for a device."""
        now = int(self._clock())
        claims = {
            "iss": _ISSUER,
            "uid": make_user_id(device),
            "ns": NAMESPACE,
            "device": device.id,
            "iat": now,
            "exp": now + TOKEN_TTL_SECONDS,
        }
        return jwt.encode(claims, self._secret, _ALGORITHM)

    def find_device(self, token: str) -> PairedDevice | None:
        """Return the device of a token; None if it has expired, or the device was revoked."""
        try:
            claims = jwt.decode(
                token,
                self._secret,
                algorithms=[_ALGORITHM],
                issuer=_ISSUER,
                options={"require": ["exp", "iat", "device"]},
            )
        except jwt.InvalidTokenError:
            return None
        return self._devices.find(str(claims["device"]))


def make_user_id(device: PairedDevice) -> int:
    """Return the number that the contract wants for a user."""
    return int.from_bytes(hashlib.sha256(device.id.encode()).digest()[:4], "big")


LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")


@dataclass(frozen=True, slots=True)
class AddressRules:
    """``names`` are host names without a port; ``origins`` are those of the settings."""

    port: int
    names: frozenset[str]
    origins: frozenset[str]
    is_anywhere: bool

    @classmethod
    def build(
        cls, port: int, *, url: str = "", origins: Collection[str] = (), is_anywhere: bool = False
    ) -> "AddressRules":
        """Build the rules; ``url`` is the public address of a tunnel, if there is one."""
        public = urlsplit(url).netloc.lower() if url else ""
        names = {f"{name}:{port}" for name in LOOPBACK_NAMES} | ({public} if public else set())
        return cls(port, frozenset(names), frozenset(origins), is_anywhere)

    def is_known_host(self, host: str) -> bool:
        """Return whether a Host header is one of ours."""
        given = host.lower()
        return given in self.names or (self.is_anywhere and _is_ip_address(given))

    def is_known_origin(self, origin: str, host: str) -> bool:
        """Return whether a page may call: one of ours, or one of the settings."""
        return self.is_named_origin(origin) or origin.partition("://")[2].lower() == host.lower()

    def is_named_origin(self, origin: str) -> bool:
        """Return whether the settings name an origin."""
        return origin in self.origins


def _is_ip_address(host: str) -> bool:
    """Return whether a Host header names an IP address, with or without a port."""
    try:
        ipaddress.ip_address(urlsplit(f"//{host}").hostname or "")
    except ValueError:
        return False
    return True


# Beyond them the address that failed longest ago is forgotten; a table without end would be a way
# to fill the memory.
MAX_ADDRESSES = 10_000


class FailureLimit:
    """At most ``max_failures`` in ``interval_seconds`` for each address."""

    def __init__(
        self,
        max_failures: int,
        interval_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._max_failures = max_failures
        self._interval = interval_seconds
        self._clock = clock
        self._failures: OrderedDict[str, deque[float]] = OrderedDict()
        self._lock = threading.Lock()

    def get_wait(self, address: str) -> float:
        """Return for how many seconds an address must wait; 0 if it may try."""
        with self._lock:
            times = self._failures.get(address)
            if times is None or len(times) < self._max_failures:
                return 0.0
            return max(0.0, times[0] + self._interval - self._clock())

    def note_failure(self, address: str) -> None:
        """Count a failure."""
        with self._lock:
            times = self._failures.setdefault(address, deque(maxlen=self._max_failures))
            times.append(self._clock())
            self._failures.move_to_end(address)
            while len(self._failures) > MAX_ADDRESSES:
                self._failures.popitem(last=False)
