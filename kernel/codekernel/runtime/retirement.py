"""Hand the endpoint over to a newer kernel.

The kernel that retires frees its endpoint at once. It serves the clients it has until the newer one
listens and their requests are answered; then each client that can attaches there.
"""

import logging
import re
import threading
from collections.abc import Callable
from contextlib import suppress

from codekernel.errors import EndpointUnavailable, KernelRetired, WrongParam
from codekernel.protocol.messages.kernel import Attach, KernelInfo
from codekernel.runtime.clients import ClientTable
from codekernel.transport.local_endpoint import LocalListener, connect_local

logger = logging.getLogger(__name__)

# The mode of clients that only ask for the status or end the kernel, whatever their version.
CONTROL_MODE = "control"

# A retired kernel looks so often for the newer one and for clients that are answered.
RELEASE_INTERVAL_SECONDS = 0.1

RETIRED_REASON = "a newer kernel takes over"

# Longer than any; a version comes from another program.
_MAX_VERSION_CHARS = 40

_RELEASE_NUMBERS = re.compile(r"\d+(?:\.\d+)*")


class Retirement:
    """Whether a newer kernel takes over; safe to use from any thread."""

    def __init__(
        self,
        info: KernelInfo,
        listener: LocalListener | None,
        clients: ClientTable,
        on_begin: Callable[[], None],
    ) -> None:
        """``on_begin`` is called once the endpoint is free for the newer kernel."""
        self._info = info
        self._listener = listener
        self._clients = clients
        self._on_begin = on_begin
        self._lock = threading.Lock()
        self._is_begun = False
        # Whether the clients of this kernel speak the protocol of the newer one.
        self._can_release = False
        self._has_successor = False

    @property
    def is_begun(self) -> bool:
        """Whether this kernel has freed its endpoint."""
        return self._is_begun

    def check_versions(self, asked: Attach) -> None:
        """Return if the client can be served.

        Raises KernelRetired if it needs a newer kernel, WrongParam if it is too old for this one.
        """
        is_newer = _parse_release(asked.client_version) > _parse_release(self._info.kernel_version)
        if asked.mode == CONTROL_MODE or not is_newer:
            check_protocol(self._info, asked)
            return
        self._begin(asked, can_release=_has_same_protocol(self._info, asked))
        raise KernelRetired(RETIRED_REASON)

    @property
    def seconds_to_next_release(self) -> float | None:
        """When ``release_clients`` is worth a call; None while the kernel does not retire."""
        return RELEASE_INTERVAL_SECONDS if self._is_begun else None

    def release_clients(self) -> None:
        """Release the clients that are answered, once the newer kernel listens."""
        if not self._is_begun:
            return
        self._has_successor = self._has_successor or self._is_endpoint_served()
        if self._has_successor and self._can_release:
            for client in self._clients.list_clients():
                if client.info.reattaches:
                    client.release()

    def _begin(self, asked: Attach, *, can_release: bool) -> None:
        with self._lock:
            if self._is_begun:
                return
            logger.info(
                "retires: %s is codekernel %s with protocol %s",
                asked.client,
                asked.client_version,
                asked.protocol_version,
            )
            if self._listener:
                self._listener.hand_over()
            self._can_release = can_release
            self._is_begun = True
            self._on_begin()

    def _is_endpoint_served(self) -> bool:
        with suppress(OSError, EndpointUnavailable):
            if self._listener:
                connect_local(self._listener.path).close()
                return True
        return False


def check_protocol(info: KernelInfo, asked: Attach) -> None:
    """Raise WrongParam if a client speaks another major version of the protocol."""
    if asked.mode != CONTROL_MODE and not _has_same_protocol(info, asked):
        raise WrongParam(
            f"this kernel is codekernel {info.kernel_version} and speaks protocol"
            f" {info.protocol_version}, {asked.client} speaks {asked.protocol_version}: update the"
            " older of the two, or give it a kernel of its own with --standalone"
        )


def _has_same_protocol(info: KernelInfo, asked: Attach) -> bool:
    major, own_major = map(_parse_release, (asked.protocol_version, info.protocol_version))
    return major[:1] == own_major[:1]


def _parse_release(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, without what marks a pre-release; empty if it has none."""
    found = _RELEASE_NUMBERS.match(version[:_MAX_VERSION_CHARS])
    return tuple(map(int, found[0].split("."))) if found else ()
