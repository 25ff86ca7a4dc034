"""How long a chat model may be silent, and how often it is asked again."""

from collections.abc import Sequence
from dataclasses import dataclass

import httpx

from kernel.llm.client import TIMEOUTS
from kernel.llm.retrying import RETRY_WAITS

# What sockets are given beyond anybody's patience: whoever waits gives up first, and knows better
# what was waited for.
SPARE_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Patience:
    """How long silence is borne, and after which waits a refused request is repeated."""

    # A model on this machine may have to be loaded first, and then reads the question slowly.
    first_piece_seconds: float = 300.0
    between_pieces_seconds: float = 90.0
    retry_waits: Sequence[float] = RETRY_WAITS


def socket_timeouts(patience: Patience) -> httpx.Timeout:
    """Limits for the phases of a request that never end a wait before ``patience`` does."""
    silence = max(patience.first_piece_seconds, patience.between_pieces_seconds)
    return httpx.Timeout(
        connect=TIMEOUTS.connect,
        read=silence + SPARE_SECONDS,
        write=TIMEOUTS.write,
        pool=TIMEOUTS.pool,
    )
