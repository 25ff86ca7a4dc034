"""docs/performance.md can be renewed: its blocks name benchmarks, and their output fits in."""

import re
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts" / "benchmarks"))

from bench import BENCHMARKS
from growth import Growth
from growth_plot import PLOTS, draw_growth
from performance import BLOCK, DOCUMENT, write_block

SVG = "{http://www.w3.org/2000/svg}"


def test_each_block_of_the_document_names_a_benchmark_and_has_its_figures() -> None:
    blocks = list(BLOCK.finditer(DOCUMENT.read_text(encoding="utf-8")))
    assert blocks
    for block in blocks:
        assert block["command"].split()[0] in BENCHMARKS
        assert f"    python scripts/bench.py {block['command']}\n" in block[0]
        assert re.search(r"^\| .*\d", block[0], re.MULTILINE)


def test_a_block_is_written_so_that_it_is_found_again_and_tables_stand_alone() -> None:
    printed = "a line\n| a | b |\n|---|---|\n| 1 | 2 |\n- met\n"

    block = write_block("index --repos DIR", printed)

    found = BLOCK.fullmatch(block)
    assert found
    assert found["command"] == "index --repos DIR"
    assert "    a line\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n- met\n" in block
    assert write_block(found["command"], printed) == block


def test_the_plot_has_a_line_for_each_figure_inside_of_its_frame() -> None:
    rows = [Growth(size, *[size / 1000.0] * 12) for size in (10_000, 100_000)]

    plot = ET.fromstring(draw_growth(rows))  # noqa: S314 - our own

    lines = plot.findall(f".//{SVG}polyline")
    assert len(lines) == sum(len(names) for _, _, names in PLOTS)
    width, height = (float(size) for size in plot.attrib["viewBox"].split()[2:])
    for line in lines:
        points = [tuple(map(float, each.split(","))) for each in line.attrib["points"].split()]
        assert len(points) == len(rows)
        assert all(0 <= x <= width and 0 <= y <= height for x, y in points)
