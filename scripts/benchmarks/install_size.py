"""What an installation takes on disk: ``install_size.py [--largest N]``.

The packages of requirements.lock as they are installed in this environment, without compiled
modules, what unused_parts.py takes away from them, and the models.
"""

import argparse
import sys
from importlib import metadata
from pathlib import Path

from rival_venv import ROOT
from verdicts import verdict

sys.path.insert(0, str(ROOT / "scripts"))

from dist_kernel import pinned_here
from environment import RUNTIME_LOCK

TARGET_MB = 450.0
LARGEST = 12


def main() -> int:
    """Print the largest packages and the sum; 0 if the target is met."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--largest", type=int, default=LARGEST)
    largest = parser.parse_args().largest
    sizes = {name: _measure(metadata.distribution(name)) for name in set(pinned_here(RUNTIME_LOCK))}
    models = sum(file.stat().st_size for file in (ROOT / "models").rglob("*") if file.is_file())
    ordered = sorted(sizes.items(), key=lambda each: -each[1])
    print("| package | MB |\n|---|---|")
    for name, size in ordered[:largest]:
        print(f"| {name} | {size / 1e6:.0f} |")
    rest = ordered[largest:]
    print(f"| {len(rest)} more | {sum(size for _, size in rest) / 1e6:.0f} |")
    print(f"| codekernel's models | {models / 1e6:.0f} |")
    total = (sum(sizes.values()) + models) / 1e6
    return 0 if verdict("environment", total, TARGET_MB, " MB") else 1


def _measure(package: metadata.Distribution) -> int:
    files = [Path(str(package.locate_file(file))) for file in package.files or ()]
    return sum(file.stat().st_size for file in files if file.is_file() and file.suffix != ".pyc")


if __name__ == "__main__":
    sys.exit(main())
