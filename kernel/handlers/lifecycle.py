"""Stopping."""

from collections.abc import Iterator

from kernel.dispatch.lanes import Lane
from kernel.handlers.house import House
from kernel.handlers.routers import main_router
from kernel.protocol.messages.lifecycle import StopAll


@main_router.handles(StopAll, lane=Lane.URGENT)
def stop_all(message: StopAll, house: House) -> Iterator[None]:
    """Confirm, then stop; the exit code tells whether it was clean."""
    yield None
    house.stop()
