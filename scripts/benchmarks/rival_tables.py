"""The tables that rivals.py prints: figures in, Markdown out."""

from collections.abc import Iterable, Mapping, Sequence

INDEX_COLUMNS = ("files", "chunks", "seconds", "cpu_seconds", "save_seconds", "rss_mb")
INDEX_HEAD = (
    "| repository | rival | files | chunks | index s | cpu s | save s | RSS MB |\n"
    "|---|---|---|---|---|---|---|---|"
)
LATENCY_HEAD = (
    "| rival | import s | model s | asked | first p50 ms | p95 | warm p50 ms | p95 | cpu p50 ms |\n"
    "|---|---|---|---|---|---|---|---|---|"
)
WALK_HEAD = "| walk | repositories | files | seconds | cpu s |\n|---|---|---|---|---|"
LANCE_HEAD = (
    "| rival | rows | import s | add s | cpu s | search p50 ms | p95 | cpu p50 ms |\n"
    "|---|---|---|---|---|---|---|---|"
)

Figures = Mapping[str, float]
# Of one query, in milliseconds: its first use, a repeated use, and the processor time of that.
Lap = tuple[float, float, float]


def index_row(repository: str, rival: str, took: Figures) -> str:
    """What one index cost."""
    files, chunks, seconds, cpu, save, memory = (took[column] for column in INDEX_COLUMNS)
    figures = f"{files:.0f} | {chunks:.0f} | {seconds:.2f} | {cpu:.2f} | {save:.2f} | {memory:.0f}"
    return f"| {repository} | {rival} | {figures} |"


def index_total(rival: str, rows: Sequence[Figures]) -> str:
    """All repositories together; of the memory the largest."""
    total = {column: sum(row[column] for row in rows) for column in INDEX_COLUMNS}
    total["rss_mb"] = max((row["rss_mb"] for row in rows), default=0.0)
    return index_row(f"**all {len(rows)}**", rival, total)


def latency_row(rival: str, ready: Figures, laps: Sequence[Lap]) -> str:
    """How long it takes to start, and to answer a query first and again."""
    first, warm, cpu = zip(*laps, strict=True)
    start = f"{ready['import_seconds']:.2f} | {ready['model_seconds']:.2f} | {len(laps)}"
    figures = [percentile(times, share) for times in (first, warm) for share in (0.5, 0.95)]
    figures.append(percentile(cpu, 0.5))
    return f"| {rival} | {start} | {' | '.join(f'{figure:.2f}' for figure in figures)} |"


def walk_row(walk: str, rows: Sequence[Figures]) -> str:
    """What listing all repositories cost."""
    files, seconds, cpu = (
        sum(row[column] for row in rows) for column in ("files", "seconds", "cpu_seconds")
    )
    return f"| {walk} | {len(rows)} | {files:.0f} | {seconds:.2f} | {cpu:.2f} |"


def lance_row(rival: str, ready: Figures, took: Figures, replies: Sequence[Figures]) -> str:
    """What storing and searching bare vectors cost."""
    start = f"{took['chunks']} | {ready['import_seconds']:.2f} | {took['seconds']:.2f}"
    times = [reply["milliseconds"] for reply in replies]
    cpu = percentile((reply["cpu_milliseconds"] for reply in replies), 0.5)
    search = f"{percentile(times, 0.5):.2f} | {percentile(times, 0.95):.2f} | {cpu:.2f}"
    return f"| {rival} | {start} | {took['cpu_seconds']:.2f} | {search} |"


def percentile(values: Iterable[float], share: float) -> float:
    """The value below which ``share`` of them lie."""
    ordered = sorted(values)
    return ordered[round(share * (len(ordered) - 1))]
