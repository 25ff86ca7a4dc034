"""Tuning of Python's garbage collector.

Higher thresholds, and freezing of everything that heavy imports created. At a million chunks
the default cost 1.4 ms of each search and 200 ms in one of forty.
"""

import gc
from functools import cache

# New objects after which the youngest are looked at, and how often the older ones are looked at
# in relation to that. Python's own are 700, 10, 10; a search makes some thousand objects.
GC_THRESHOLDS = (5_000, 20, 20)


def raise_gc_thresholds() -> None:
    """Let objects wait longer before they are looked at; at the start of a process that answers."""
    gc.set_threshold(*GC_THRESHOLDS)


@cache
def freeze_imported_objects() -> None:
    """Look no more at anything there is now; to be called when the heavy imports are done.

    Only once: what is open by then and closed later may stay, if it is a cycle.
    """
    gc.freeze()
