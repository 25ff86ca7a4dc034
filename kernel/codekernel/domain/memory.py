"""Tuning of memory: Python's garbage collector, and glibc's allocator for native libraries.

A kernel imports its modules without the collector, which would look at their objects again and
again and find nothing: 116 ms instead of 129. Then higher thresholds, and freezing of everything
that heavy imports created: at a million chunks the default cost 1.4 ms of each search and 200 ms in
one of forty. Fewer malloc arenas, and trimming of what native libraries have freed; that does
nothing on other systems.
"""

import ctypes
import gc
import sys
from functools import cache
from typing import Any

# New objects after which the youngest are looked at, and how often the older ones are looked at
# in relation to that. Python's own are 700, 10, 10; a search makes some thousand objects.
GC_THRESHOLDS = (5_000, 20, 20)


def raise_gc_thresholds() -> None:
    """Let objects wait longer before they are looked at, and begin to look at them.

    Called at the start of a process that answers, when its modules are imported.
    """
    gc.set_threshold(*GC_THRESHOLDS)
    gc.enable()


@cache
def freeze_imported_objects() -> None:
    """Look no more at anything there is now; to be called when the heavy imports are done.

    Only once: what is open by then and closed later may stay, if it is a cycle.
    """
    gc.freeze()


# Of <malloc.h>.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8

# glibc gives threads up to eight arenas a core and returns little of them. With LanceDB's forty
# threads, 200,000 rows added and compacted 13 times left 300 MB behind when the table was closed,
# and 78 MB with one arena, at the same processor time. Two, so that a thread need not wait.
MAX_MALLOC_ARENAS = 2

# Larger blocks are given back as soon as they are freed. glibc raises its own limit to 32 MB when
# blocks of that size are freed, and keeps twice as much: after a cold index of 22,000 chunks a
# kernel then had 262 MB instead of 230, at the same processor time. With 1 MB it took up to a tenth
# more.
MAX_KEPT_BLOCK_BYTES = 4 * 1024 * 1024


def limit_kept_memory() -> None:
    """Have threads take memory from few places and give it back; to be called before they exist.

    Those that have a place of their own already keep it, and later ones share it: with a repository
    opened by a kernel of ten threads, a cold index took 450 MB instead of 410.
    """
    if library := _load_glibc():
        library.mallopt(_M_ARENA_MAX, MAX_MALLOC_ARENAS)
        library.mallopt(_M_MMAP_THRESHOLD, MAX_KEPT_BLOCK_BYTES)
        library.mallopt(_M_TRIM_THRESHOLD, MAX_KEPT_BLOCK_BYTES)


def trim_native_memory() -> None:
    """Return what is free in between; some milliseconds, so after large things have gone."""
    if library := _load_glibc():
        library.malloc_trim(0)


@cache
def _load_glibc() -> Any:
    """The C library, if it is the one these calls are of."""
    if not sys.platform.startswith("linux"):
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "gnu_get_libc_version") else None
