"""Pin every dependency, with hashes and for every platform, into the two lock files.

``python scripts/lock.py`` after changing the dependencies in pyproject.toml; ``--upgrade`` to take
newer versions.
"""

import subprocess
import sys

import environment

UV = "uv==0.13.7"


def main() -> int:
    """Write requirements.lock and requirements-dev.lock."""
    interpreter = environment.ensure(environment.DEVELOPMENT_LOCK)
    subprocess.run([str(interpreter), "-m", "pip", "install", "--quiet", UV], check=True)
    compile_command = [str(interpreter), "-m", "uv", "pip", "compile", "--quiet", "--universal"]
    compile_command += ["--python-version", "3.11", "--generate-hashes", "--no-header"]
    compile_command += ["--no-emit-index-url", "--no-annotate", "pyproject.toml", *sys.argv[1:]]
    for lock, group in (
        (environment.RUNTIME_LOCK, []),
        (environment.DEVELOPMENT_LOCK, ["--group", "dev"]),
    ):
        subprocess.run(
            [*compile_command, *group, "-o", lock.name], cwd=environment.ROOT, check=True
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
