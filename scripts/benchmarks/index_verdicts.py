"""What index.py concludes from its table: the ratios to the rivals, the disk, the versions."""

from collections.abc import Collection

from index_tables import COLUMNS, complete
from rival_tables import Figures
from verdicts import verdict, verdict_at_least

TIME_TARGET = 1.0  # of semble's
DISK_TARGET = 1.5  # of source + vectors
VERSIONS_TARGET = 10

Rows = dict[str, dict[str, Figures]]  # of each indexer, of each repository


def print_verdicts(rows: Rows, ours: str, like_ours: str) -> list[bool]:
    """Compare with each rival; only ``like_ours``, which indexes the same files, is a target."""
    if not rows[ours]:
        raise SystemExit(f"{ours} has indexed nothing.")
    met = []
    for rival in [name for name in rows if name != ours]:
        both = rows[ours].keys() & rows[rival].keys()
        if both:
            sums = [_sums(rows[who], both) for who in (ours, rival)]
            met += _against(rival, *sums, counts=rival == like_ours)
    if not rows.get(like_ours):
        print(f"- time / {like_ours}: NOT MEASURED, it did not run")
        met.append(False)
    for name, took in rows[ours].items():
        share = took["disk_bytes"] / (took["source_bytes"] + took["vector_bytes"])
        if share > DISK_TARGET:
            print(f"  ({name}: disk {share:.2f}x)")
    disk, source, vectors = (
        sum(took[column] for took in rows[ours].values())
        for column in ("disk_bytes", "source_bytes", "vector_bytes")
    )
    largest = max(rows[ours].values(), key=lambda took: took["versions"])
    met.append(
        verdict("disk / (source + vectors), all", disk / (source + vectors), DISK_TARGET, "x")
    )
    met.append(verdict("LanceDB versions after idle, most", largest["versions"], VERSIONS_TARGET))
    return met


def _sums(rows: dict[str, Figures], names: Collection[str]) -> Figures:
    taken = [complete(rows[name]) for name in names]
    return {column: sum(took[column] for took in taken) for column in COLUMNS}


def _against(rival: str, ours: Figures, theirs: Figures, *, counts: bool) -> list[bool]:
    """The ratios to one rival, over the repositories that both have indexed."""
    saved = theirs["seconds"] + theirs["save_seconds"]
    wall = ours["seconds"] / theirs["seconds"]
    cpu = ours["cpu_seconds"] / theirs["cpu_seconds"]
    chunks = ours["chunks"] / theirs["chunks"]
    print(
        f"{rival}: ours takes {wall:.2f}x the time ({ours['seconds'] / saved:.2f}x with its "
        f"saving), {cpu:.2f}x the CPU, and makes {chunks:.2f}x the chunks."
    )
    if not counts:
        return []
    return [
        verdict(f"time / {rival}", wall, TIME_TARGET, "x"),
        verdict(f"CPU / {rival}", cpu, TIME_TARGET, "x"),
        verdict_at_least("chunks", ours["chunks"], theirs["chunks"]),
    ]
