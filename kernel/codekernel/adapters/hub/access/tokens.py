"""Short-lived tokens: a device exchanges its key for a JWT and sends that with each request.

The secret that signs them is made anew with each start and never leaves the process: after a
restart a device exchanges its key again, as it does when the token has expired.
"""

import hashlib
import secrets
import time
from collections.abc import Callable

import jwt

from codekernel.adapters.hub.access.devices import DeviceRegistry, PairedDevice

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
