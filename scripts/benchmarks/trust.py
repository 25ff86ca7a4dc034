"""Fault campaigns: ``bench.py trust [CAMPAIGN ...] [--seed N] [--tries N]``.

Each campaign damages, kills, races or attacks real processes and counts what did not hold. A seed
repeats a campaign exactly; without one it is drawn and printed. ``--tries`` replaces the usual
number of tries of every chosen campaign.
"""

import argparse
import importlib
import random
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from trust_result import CampaignResult, format_table

# Each is a module ``trust_<name>`` with ``run(seed: int, tries: int | None) -> CampaignResult``.
CAMPAIGNS = (
    "kills", "damages", "user_files", "full_disk", "races", "secrets", "connections", "network",
    "stalls",
)  # fmt: skip
MAX_SEED = 2**32


def main() -> int:
    """Run the chosen campaigns, all of them by default; 0 if none failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("campaigns", nargs="*", metavar="CAMPAIGN", help=", ".join(CAMPAIGNS))
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--tries", type=int, default=None)
    options = parser.parse_args()
    unknown = sorted(set(options.campaigns) - set(CAMPAIGNS))
    if unknown:
        parser.error(f"unknown campaign: {', '.join(unknown)}; there are {', '.join(CAMPAIGNS)}")
    seed = random.randrange(MAX_SEED) if options.seed is None else options.seed  # noqa: S311
    print(f"trust: seed {seed}", flush=True)
    results = [_run(name, seed, options.tries) for name in options.campaigns or CAMPAIGNS]
    print(format_table(results))
    return 0 if all(result.has_passed for result in results) else 1


def _run(name: str, seed: int, tries: int | None) -> CampaignResult:
    started = time.monotonic()
    result: CampaignResult = importlib.import_module(f"trust_{name}").run(seed, tries)
    print(
        f"{name}: {result.tries} tries, {len(result.failures)} failures,"
        f" {time.monotonic() - started:.0f} s",
        flush=True,
    )
    return result


if __name__ == "__main__":
    sys.exit(main())
