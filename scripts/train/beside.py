"""Import this first: scripts/models, scripts/benchmarks and the kernel become importable."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("kernel", "scripts/models", "scripts/benchmarks")
sys.path[:0] = [str(ROOT / folder) for folder in FOLDERS]
