"""Which accelerators really work on this machine."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Hardware:
    """Each flag is true only after a trial session ran on that accelerator."""

    cuda: bool
    coreml: bool
