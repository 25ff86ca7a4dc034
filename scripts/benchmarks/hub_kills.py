"""Agents on devices while processes are killed: ``bench.py hub_kills [--kills 100] [--seed 1]``.

A kernel, a hub under a supervisor, our own agent with a scripted model and a foreign one over ACP;
two devices follow with resume, send, take back and answer permissions, both at once, and a chat of
Lark follows one session. At random moments the hub, the kernel or an agent gets kill -9. At the end
what the devices were told is compared with what is kept: nothing lost, nothing twice, no session at
work for ever, and each goes on.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.hub_kills import HubKills
from support.shared_kernel import ENVIRON


def main() -> int:
    """Run the campaign and print what happened."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    os.environ.update(ENVIRON)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="codekernel-kills-") as folder:
        user_data = Path(folder, "userData")
        user_data.mkdir()
        campaign = HubKills(user_data, kills=args.kills, seed=args.seed)
        result = campaign.run(lambda line: print(line, flush=True))
    rows = {
        "kill -9": f"{', '.join(f'{name} {count}' for name, count in result.kills.items())}"
        f" in {time.monotonic() - began:.0f} s, {result.hub_starts} starts of the hub",
        "messages accepted": f"{result.messages}, of them {result.said_in_lark} from Lark;"
        f" {result.taken_back} more taken back",
        "answered": result.answered,
        "said to be interrupted": result.interrupted,
        "permissions": ", ".join(f"{count} {name}" for name, count in result.permissions.items()),
        "streams of devices": f"{result.gaps} read anew, {result.resumes} resumed",
        "refused and tried again": dict(result.refusals),
    }
    print("\n| | |\n|---|---|")
    for name, figure in rows.items():
        print(f"| {name} | {figure} |")
    print("\n".join(result.problems) or "nothing lost, nothing twice, every session goes on")
    return 1 if result.problems else 0


if __name__ == "__main__":
    sys.exit(main())
