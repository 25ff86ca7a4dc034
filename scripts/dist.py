"""Make the app as a folder that needs nothing installed: ``python scripts/dist.py [options]``.

The interpreter that runs this is the one that goes inside; docs/decisions/0015-packaging.md says
which to take. ``npm run dist`` in electron-bridge/app is the same.
"""

import subprocess
import sys

import environment


def main() -> int:
    """Build with the project's own environment, from which the packages are taken."""
    interpreter = environment.ensure(environment.RUNTIME_LOCK)
    script = environment.ROOT / "scripts" / "dist_build.py"
    return subprocess.run([str(interpreter), str(script), *sys.argv[1:]], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
