"""What the routes of the hub use."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import ParamSpec, TypeVar

from anyio import CapacityLimiter, fail_after, to_thread

from codekernel.adapters.hub.access.addresses import AddressRules
from codekernel.adapters.hub.access.devices import DeviceRegistry
from codekernel.adapters.hub.access.pairing import Pairing
from codekernel.adapters.hub.access.rate_limits import FailureLimit
from codekernel.adapters.hub.access.tokens import AccessTokens
from codekernel.adapters.hub.events.broadcast import EventBroadcaster
from codekernel.adapters.hub.machine_table import MachineTable
from codekernel.adapters.hub.machines import HubMachines
from codekernel.adapters.static_pages import StaticPages

# A person mistypes a code some times; 60 guesses an hour of 79 bits find nothing.
MAX_FAILURES, FAILURE_INTERVAL_SECONDS = 10, 600.0

# Requests that are being answered; a machine that is slow holds up no more than these.
MAX_WORKING_REQUESTS = 64

# As long as the contract gives a machine for its answer.
REQUEST_TIMEOUT_SECONDS = 30.0

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class HubContext:
    """The parts of a running hub."""

    table: MachineTable
    machines: HubMachines
    devices: DeviceRegistry
    pairing: Pairing
    tokens: AccessTokens
    broadcaster: EventBroadcaster
    rules: AddressRules
    pages: StaticPages
    auth_failures: FailureLimit = field(
        default_factory=lambda: FailureLimit(MAX_FAILURES, FAILURE_INTERVAL_SECONDS)
    )
    pairing_failures: FailureLimit = field(
        default_factory=lambda: FailureLimit(MAX_FAILURES, FAILURE_INTERVAL_SECONDS)
    )
    limiter: CapacityLimiter = field(default_factory=lambda: CapacityLimiter(MAX_WORKING_REQUESTS))

    async def run_in_thread(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Run what blocks on a thread. Raises TimeoutError; the thread is then left alone."""
        with fail_after(REQUEST_TIMEOUT_SECONDS):
            return await to_thread.run_sync(
                partial(work, *args, **kwargs), limiter=self.limiter, abandon_on_cancel=True
            )
