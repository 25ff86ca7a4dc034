"""A member who opens a repository with the pack of the team, to be killed: ``FOLDER ROOT STORE``.

Stays open until it is killed.
"""

import sys
import time
from pathlib import Path

from codekernel.domain.settings import SharingSettings
from codekernel.inference.model_pool import ModelPool
from indexing.harness import static_plan
from packs.packs_world import PackMember


def main() -> None:
    """Open, and stay."""
    folder, root, store = sys.argv[1:]
    member = PackMember(Path(folder), SharingSettings(store))
    with member.open(Path(root), ModelPool(), static_plan(300)):
        time.sleep(600)


if __name__ == "__main__":
    main()
