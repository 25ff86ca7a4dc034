"""Import this first: scripts/models, scripts/benchmarks and the kernel become importable."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "scripts" / "models"), str(ROOT / "scripts" / "benchmarks")]
