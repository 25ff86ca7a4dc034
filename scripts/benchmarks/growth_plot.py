"""Draw the growth of growth.py as SVG: four small plots, both axes logarithmic."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from growth import Growth

WIDTH, HEIGHT = 360, 230
LEFT, RIGHT, TOP, BOTTOM = 56, 84, 34, 34
COLOURS = ("#1f6feb", "#bf5700", "#2da44e")
# Title, unit, and the lines: the name of each and the attribute of a row.
PLOTS: tuple[tuple[str, str, tuple[tuple[str, str], ...]], ...] = (
    ("A query", "ms", (("p95", "p95_ms"), ("p50", "p50_ms"))),
    ("Time", "s", (("first index", "index_seconds"), ("open again", "open_seconds"))),
    ("Memory", "MB", (("indexing", "peak_mb"), ("opened", "idle_mb"), ("closed", "closed_mb"))),
    ("Disk", "MB", (("index", "disk_mb"), ("source", "source_mb"))),
)
STYLE = (
    "text{font:11px sans-serif;fill:#57606a}.title{font-weight:bold;font-size:13px}"
    "line{stroke:#8c959f;stroke-width:.5}polyline{fill:none;stroke-width:2}"
)


def draw_growth(rows: "Sequence[Growth]") -> str:
    """Return the plots of some sizes."""
    plots = [_draw_plot(number, rows) for number in range(len(PLOTS))]
    size = f"{2 * WIDTH} {2 * HEIGHT}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}"><style>{STYLE}</style>'
        f'<rect width="100%" height="100%" fill="#fff"/>\n{"".join(plots)}</svg>\n'
    )


def _draw_plot(number: int, rows: "Sequence[Growth]") -> str:
    title, unit, lines = PLOTS[number]
    sizes = [float(row.chunks) for row in rows]
    series = [[max(getattr(row, attribute), 0.01) for row in rows] for _, attribute in lines]
    across, up = _span(sizes), _span([value for values in series for value in values])
    parts = [f'<text class="title" x="{LEFT}" y="18">{title}, {unit}</text>']
    for power in range(across[0], across[1] + 1):
        x = _place(10.0**power, across, LEFT, WIDTH - RIGHT)
        parts.append(f'<line x1="{x}" x2="{x}" y1="{TOP}" y2="{HEIGHT - BOTTOM}"/>')
        parts.append(f'<text x="{x}" y="{HEIGHT - 18}" text-anchor="middle">{_name(power)}</text>')
    for power in range(up[0], up[1] + 1):
        y = _place(10.0**power, up, HEIGHT - BOTTOM, TOP)
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{y + 4}" text-anchor="end">{10.0**power:g}</text>')
    for (name, _), values, colour in zip(lines, series, COLOURS, strict=False):
        points = [
            (_place(size, across, LEFT, WIDTH - RIGHT), _place(value, up, HEIGHT - BOTTOM, TOP))
            for size, value in zip(sizes, values, strict=True)
        ]
        path = " ".join(f"{x},{y}" for x, y in points)
        parts.append(f'<polyline points="{path}" stroke="{colour}"/>')
        x, y = points[-1]
        parts.append(f'<text x="{x + 6}" y="{y + 4}" style="fill:{colour}">{name}</text>')
    where = f"translate({number % 2 * WIDTH},{number // 2 * HEIGHT})"
    return f'<g transform="{where}">{"".join(parts)}</g>\n'


def _span(values: Sequence[float]) -> tuple[int, int]:
    """Return the powers of ten around some values, at least one apart."""
    lowest, highest = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return lowest, max(highest, lowest + 1)


def _place(value: float, powers: tuple[int, int], start: float, end: float) -> float:
    share = (math.log10(value) - powers[0]) / (powers[1] - powers[0])
    return round(start + share * (end - start), 1)


def _name(power: int) -> str:
    return {3: "1k", 4: "10k", 5: "100k", 6: "1M", 7: "10M"}.get(power, f"1e{power}")
