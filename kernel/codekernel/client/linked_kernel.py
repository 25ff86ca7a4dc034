"""The shared kernel in the place of a kernel of this process, for ``codekernel web``."""

import logging
import threading

from codekernel.client.link_channel import LinkChannel
from codekernel.client.relay import KernelLink
from codekernel.transport.lines import MemoryChannel

logger = logging.getLogger(__name__)

# For the host to take what the kernel sent last.
FLUSH_TIMEOUT_SECONDS = 3.0


class LinkedKernel:
    """Answers the lines of a channel by the kernel that all clients share."""

    def __init__(self, channel: MemoryChannel, link: KernelLink) -> None:
        self._channel = channel
        self._link = link
        self._has_crashed = False

    def run(self) -> int:
        """Carry lines until stopped, or until no kernel can be had; return the exit code."""
        # Two threads, because a kernel that waits to be read may not be waited for.
        threading.Thread(target=self._send_lines, name="link", daemon=True).start()
        for line in LinkChannel(self._link).iter_sent():
            self._channel.send(line)
        is_flushed = self._channel.close(FLUSH_TIMEOUT_SECONDS)
        return 0 if is_flushed and not self._has_crashed and not self._link.is_lost else 1

    def stop(self) -> None:
        """End this client and its sessions, in order; callable from a signal handler."""
        self._link.end_input()

    def crash(self, error: BaseException) -> None:
        """End because this client itself is broken; the kernel goes on."""
        logger.critical("this client crashed", exc_info=error)
        self._has_crashed = True
        self._link.close()
        self._channel.close(0)

    def _send_lines(self) -> None:
        for line in self._channel.iter_lines():
            if isinstance(line, bytes):  # the host refuses longer ones itself
                self._link.send(line + b"\n")
