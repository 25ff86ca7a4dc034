"""Python's collector of cycles: it looks seldom, and not at what has come to stay.

At a million chunks it took 1.4 ms of each search, and in one search of forty 200 ms more, nearly
all of it spent on the modules of the libraries that keep the vectors and run the models.
"""

import gc
from functools import cache

# New objects after which the youngest are looked at, and how often the older ones are looked at
# in relation to that. Python's own are 700, 10, 10; a search makes some thousand objects.
THRESHOLDS = (5_000, 20, 20)


def collect_seldom() -> None:
    """Let objects wait longer before they are looked at; at the start of a process that answers."""
    gc.set_threshold(*THRESHOLDS)


@cache
def keep_what_is_imported() -> None:
    """Look no more at anything there is now; to be called when the heavy imports are done.

    Only once: what is open by then and closed later may stay, if it is a cycle.
    """
    gc.freeze()
