"""How often tests of chance try: enough to notice in the lane, as often as promised in the rest."""

import os

# Set by ``scripts/test.py full``.
FULL_VARIABLE = "CODEKERNEL_FULL_TESTS"
FULL = os.environ.get(FULL_VARIABLE) == "1"


def tries(in_the_lane: int, promised: int) -> int:
    """The larger number is for a run in which time does not matter."""
    return promised if FULL else in_the_lane
