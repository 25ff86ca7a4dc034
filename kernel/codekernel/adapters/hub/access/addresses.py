"""Which names the hub may be called by, and which pages may call it.

A foreign page can reach a port of this machine by a name of its own (DNS rebinding), but then its
name is in the Host header; so only known names are answered. An IP address is no name: a page
cannot rebind it.
"""

import ipaddress
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import urlsplit

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
