"""How often randomised tests try: few times by default, all tries in ``scripts/test.py full``."""

import os

# Set by ``scripts/test.py full``.
FULL_VARIABLE = "CODEKERNEL_FULL_TESTS"
FULL = os.environ.get(FULL_VARIABLE) == "1"


def choose_tries(default: int, full: int) -> int:
    """The larger number is for a run in which time does not matter."""
    return full if FULL else default
