"""What a release publishes: manifests with the hashes of its files, recipes that can work."""

import hashlib
import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import codekernel
import pytest
import yaml
from support.javascript import ROOT

sys.path.insert(0, str(ROOT / "scripts"))

import release_files

VERSION = codekernel.__version__
WHEEL = f"codekernel-{VERSION}-py3-none-any.whl"
PACKAGING = ROOT / "scripts" / "packaging"
WORKFLOWS = ROOT / ".github" / "workflows"
MAX_MCP_DESCRIPTION_CHARS = 100
# Of a released Python, with the system it is built on.
PINNED_IMAGE = re.compile(r"python:3\.\d+(-slim)?-[a-z]+$")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release whose files are stand-ins; their hashes are real."""
    folder = tmp_path_factory.mktemp("release")
    (folder / WHEEL).write_bytes(b"a wheel")
    (folder / release_files.WINDOWS_APP).write_bytes(b"an app")
    script = ROOT / "scripts" / "release_files.py"
    subprocess.run([sys.executable, str(script), str(folder)], check=True, capture_output=True)
    return folder


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_checksums_are_of_every_file_and_can_be_checked(folder: Path) -> None:
    lines = (folder / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    listed = {line.split("  ")[1]: line.split("  ")[0] for line in lines}
    assert listed.keys() == {file.name for file in folder.iterdir()} - {"SHA256SUMS"}
    for name, digest in listed.items():
        assert digest == sha256((folder / name).read_bytes())


def test_the_formula_has_the_wheel_and_the_lock_with_their_hashes(folder: Path) -> None:
    text = (folder / "codekernel.rb").read_text(encoding="utf-8")
    assert f'sha256 "{sha256(b"a wheel")}"' in text
    assert f'sha256 "{sha256((ROOT / "requirements.lock").read_bytes())}"' in text
    assert f'version "{VERSION}"' in text
    assert f"/v{VERSION}/{WHEEL}" in text
    begun = re.findall(
        r"^ *(?:class|def|test do|resource .* do|.*\.stage do)\b", text, re.MULTILINE
    )
    assert len(begun) == text.count("end\n")
    if ruby := shutil.which("ruby"):
        subprocess.run([ruby, "-c"], input=text.encode(), check=True, capture_output=True)


def test_the_formula_takes_a_python_that_is_supported() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    number = release_files.HOMEBREW_PYTHON.partition("@")[2]
    assert f"Programming Language :: Python :: {number}" in project["classifiers"]


def test_scoop_gets_the_app_of_windows(folder: Path) -> None:
    manifest = json.loads((folder / "codekernel.json").read_text(encoding="utf-8"))
    assert {"version", "description", "homepage", "license", "architecture"} <= manifest.keys()
    assert manifest["version"] == VERSION
    app = manifest["architecture"]["64bit"]
    assert app["hash"] == sha256(b"an app")
    assert app["url"].endswith(f"/v{VERSION}/codekernel-win32-X64.zip")


def test_winget_gets_three_files_that_agree(folder: Path) -> None:
    files = [yaml.safe_load(file.read_text("utf-8")) for file in folder.glob("*.yaml")]
    assert {file["ManifestType"] for file in files} == {"version", "installer", "defaultLocale"}
    for file in files:
        assert file["PackageIdentifier"] == "codekernel.codekernel"
        assert file["PackageVersion"] == VERSION
        assert file["ManifestVersion"] == release_files.WINGET_SCHEMA
    (installer,) = (file for file in files if file["ManifestType"] == "installer")
    assert installer["Installers"][0]["InstallerSha256"] == sha256(b"an app").upper()
    nested = installer["NestedInstallerFiles"][0]["RelativeFilePath"]
    assert nested.startswith("codekernel-win32\\")


def test_the_registry_of_mcp_servers_is_told_of_this_package(folder: Path) -> None:
    server = json.loads((folder / "server.json").read_text(encoding="utf-8"))
    assert len(server["description"]) <= MAX_MCP_DESCRIPTION_CHARS
    (package,) = server["packages"]
    assert (package["identifier"], package["version"]) == ("codekernel", VERSION)
    assert server["version"] == VERSION
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"mcp-name: {server['name']}" in readme


def test_a_file_that_was_not_built_is_named(tmp_path: Path) -> None:
    script = ROOT / "scripts" / "release_files.py"
    command = [sys.executable, str(script), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 1
    assert WHEEL in done.stderr.decode()


def test_all_versions_are_the_same() -> None:
    packages = [ROOT / "electron-bridge" / place for place in (".", "app", "vscode")]
    for place in packages:
        about = json.loads((place / "package.json").read_text(encoding="utf-8"))
        assert about["version"] == VERSION, place


@pytest.mark.parametrize("name", ["release.yml", "dist.yml"])
def test_what_a_workflow_runs_exists(name: str) -> None:
    recipe = yaml.safe_load((WORKFLOWS / name).read_text(encoding="utf-8"))
    for job in recipe["jobs"].values():
        if "uses" in job:
            assert (ROOT / job["uses"]).is_file()
            continue
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step), step
            assert "@" in step.get("uses", "@"), step
            for word in re.findall(r"(?:scripts|requirements)[\w/.]+\.(?:py|lock)", str(step)):
                assert (ROOT / word).is_file(), word


def test_nothing_is_published_that_was_not_installed_before() -> None:
    recipe = yaml.safe_load((WORKFLOWS / "release.yml").read_text(encoding="utf-8"))
    jobs: dict[str, Any] = recipe["jobs"]
    assert "try" in jobs["publish"]["needs"]
    assert {"publish", "apps"} <= set(jobs["release"]["needs"])
    systems = jobs["try"]["strategy"]["matrix"]["system"]
    assert {system.split("-")[0] for system in systems} == {"ubuntu", "macos", "windows"}


def test_only_the_jobs_that_publish_may_do_more_than_read() -> None:
    recipe = yaml.safe_load((WORKFLOWS / "release.yml").read_text(encoding="utf-8"))
    assert recipe["permissions"] == {"contents": "read"}
    allowed = {name: job.get("permissions") for name, job in recipe["jobs"].items()}
    assert allowed.pop("publish") == {"id-token": "write"}
    assert allowed.pop("release")["contents"] == "write"
    assert set(allowed.values()) == {None}
    text = (WORKFLOWS / "release.yml").read_text(encoding="utf-8")
    assert "secrets." not in text


@pytest.mark.parametrize("file", [PACKAGING / "Dockerfile", ROOT / ".devcontainer" / "Dockerfile"])
def test_a_container_is_pinned_and_does_not_run_as_root(file: Path) -> None:
    rows = read_instructions(file)
    for _, value in (row for row in rows if row[0] == "FROM"):
        assert PINNED_IMAGE.match(value.partition(" AS ")[0]), value
    last = max(place for place, row in enumerate(rows) if row[0] == "FROM")
    users = [value for word, value in rows[last:] if word == "USER"]
    assert users
    assert users[-1] != "root"
    ran = " ".join(value for word, value in rows if word == "RUN")
    assert "apt-get install" not in ran or "rm -rf /var/lib/apt/lists/*" in ran
    assert "curl" not in ran


def test_what_the_container_copies_is_sent_to_docker() -> None:
    ignored = (PACKAGING / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    sent = {line[1:] for line in ignored if line.startswith("!")}
    for word, value in read_instructions(PACKAGING / "Dockerfile"):
        if word != "COPY" or value.startswith("--from"):
            continue
        for source in value.split()[:-1]:
            assert source.removeprefix("./") in sent
            assert (ROOT / source).exists()


def test_the_container_for_development_is_built_beside_its_description() -> None:
    folder = ROOT / ".devcontainer"
    about = json.loads((folder / "devcontainer.json").read_text(encoding="utf-8"))
    assert (folder / about["build"]["dockerfile"]).is_file()
    users = [value for word, value in read_instructions(folder / "Dockerfile") if word == "USER"]
    assert users == [about["remoteUser"]]
    assert (ROOT / about["postCreateCommand"].split()[1]).is_file()


def read_instructions(file: Path) -> list[tuple[str, str]]:
    text = re.sub(r"^#.*\n", "", file.read_text(encoding="utf-8"), flags=re.MULTILINE)
    joined = text.replace("\\\n", " ")
    rows = [line.split(maxsplit=1) for line in joined.splitlines() if line.strip()]
    return [(word, value) for word, value in rows]
