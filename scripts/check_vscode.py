"""Try the packed extension in a real workbench of VS Code: ``python scripts/check_vscode.py``.

Brings code-server, which has a build of VS Code inside, and the Node that it needs from npm into a
folder of its own (``--folder``, some 700 MB, once), never into the repository; then runs
electron-bridge/vscode/e2e with Chromium and a kernel of this environment. Too large for every test
run: the tests of the extension without a workbench are in tests/app/test_vscode.py.
"""

import argparse
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import dist_vscode
from environment import ROOT

CODE_SERVER = "code-server@4.139.1"
NODE = "24.21.0"
TEST = ROOT / "electron-bridge" / "vscode" / "e2e" / "workbench.test.js"
NPM_TIMEOUT_SECONDS = 900
TEST_TIMEOUT_SECONDS = 600
# What npm may not do here: run scripts of packages; the workbench works without.
INSTALL = ("install", "--omit=dev", "--ignore-scripts", "--no-audit", "--no-fund")


def main() -> int:
    """Install what is missing, pack the extension, run its test."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    default = Path(tempfile.gettempdir()) / "codekernel-workbench"
    parser.add_argument("--folder", type=Path, default=default, help="where the workbench lies")
    parser.add_argument("--pictures", type=Path, help="write screenshots there")
    arguments = parser.parse_args()
    folder = arguments.folder.absolute()
    server, node = folder / "code-server", folder / "node" / "bin" / "node"
    if not (folder / "complete").is_file():
        install(folder, server, node)
    vsix = folder / "codekernel.vsix"
    dist_vscode.pack(vsix)
    environ = {
        **os.environ,
        "CODEKERNEL_CODE_SERVER": str(server),
        "CODEKERNEL_NODE": str(node),
        "CODEKERNEL_VSIX": str(vsix),
        "CODEKERNEL_PYTHON": sys.executable,
    }
    if arguments.pictures:
        arguments.pictures.mkdir(parents=True, exist_ok=True)
        environ["CODEKERNEL_PICTURES"] = str(arguments.pictures.absolute())
    command = [str(shutil.which("node")), "--test", str(TEST)]
    done = subprocess.run(
        command, cwd=TEST.parents[2], env=environ, check=False, timeout=TEST_TIMEOUT_SECONDS
    )
    return done.returncode


def install(folder: Path, server: Path, node: Path) -> None:
    """Bring code-server and its Node."""
    for place in (server, node.parents[1]):
        shutil.rmtree(place, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    machine = {"x86_64": "x64", "aarch64": "arm64"}[platform.machine()]
    _unpack(f"node-linux-{machine}@{NODE}", folder, node.parents[1])
    _unpack(CODE_SERVER, folder, server)
    environ = {**os.environ, "PATH": f"{node.parent}{os.pathsep}{os.environ.get('PATH', '')}"}
    for place in (server, server / "lib" / "vscode"):
        _run_npm([*INSTALL], place, environ)
    (folder / "complete").touch()


def _unpack(package: str, folder: Path, target: Path) -> None:
    """Unpack a package of npm; what it depends on is not brought."""
    _run_npm(["pack", package, "--pack-destination", str(folder)], folder, dict(os.environ))
    (archive,) = folder.glob(f"{package.partition('@')[0]}-*.tgz")
    with tarfile.open(archive) as opened:
        opened.extractall(folder / "unpacked", filter="data")
    (folder / "unpacked" / "package").rename(target)
    archive.unlink()


def _run_npm(words: list[str], folder: Path, environ: dict[str, str]) -> None:
    npm = shutil.which("npm")
    if npm is None:
        sys.exit("npm is not installed: it comes with Node, from nodejs.org or your system.")
    subprocess.run([npm, *words], cwd=folder, env=environ, check=True, timeout=NPM_TIMEOUT_SECONDS)


if __name__ == "__main__":
    sys.exit(main())
