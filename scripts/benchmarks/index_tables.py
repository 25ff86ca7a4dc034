"""The table that index.py prints: figures in, Markdown out."""

from collections.abc import Iterable

from rival_tables import Figures

COLUMNS = (
    "files",
    "chunks",
    "seconds",
    "cpu_seconds",
    "save_seconds",
    "rss_mb",
    "disk_bytes",
    "source_bytes",
    "vector_bytes",
    "versions",
)
HEAD = (
    "| repository | indexer | files | chunks | index s | cpu s | save s | peak RSS MB "
    "| disk MB | of source + vectors | versions |\n|---|---|---|---|---|---|---|---|---|---|---|"
)


def complete(took: Figures) -> Figures:
    """Columns that an indexer does not have are 0; ours saves as it goes."""
    return {column: took.get(column, 0.0) for column in COLUMNS}


def row(repository: str, indexer: str, took: Figures) -> str:
    """What one index cost."""
    all_of = complete(took)
    files, chunks, seconds, cpu, save, memory, disk, source, vectors, versions = (
        all_of[column] for column in COLUMNS
    )
    cost = f"{files:.0f} | {chunks:.0f} | {seconds:.2f} | {cpu:.2f} | {save:.2f} | {memory:.0f}"
    size = (
        f"{disk / 1e6:.1f} | {disk / (source + vectors):.2f}x | {versions:.0f}" if disk else " | | "
    )
    return f"| {repository} | {indexer} | {cost} | {size} |"


def total(indexer: str, rows: Iterable[Figures]) -> str:
    """All repositories together; of memory and versions the largest."""
    taken = [complete(took) for took in rows]
    whole = {column: sum(took[column] for took in taken) for column in COLUMNS}
    for column in ("rss_mb", "versions"):
        whole[column] = max((took[column] for took in taken), default=0.0)
    return row(f"**all {len(taken)}**", indexer, whole)
