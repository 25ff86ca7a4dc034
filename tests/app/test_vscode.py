"""The VS Code extension: what is packed is whole, and it works with a real kernel.

A real workbench is too large for every run: python scripts/check_vscode.py brings one.
"""

import json
import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any
from xml.etree import ElementTree as ET

import codekernel
import pytest
from support.javascript import BRIDGE, FILE_SECONDS, ROOT, check_with_node, require_node

sys.path.insert(0, str(ROOT / "scripts"))

import dist_vscode

EXTENSION = BRIDGE / "vscode"
IMPORT = re.compile(r"^(?:import|export|\}) .*?from '([^']+)';|^import '([^']+)';", re.MULTILINE)
NAMESPACE = "{http://schemas.microsoft.com/developer/vsx-schema/2011}"


@pytest.fixture(scope="module")
def vsix(tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    file = tmp_path_factory.mktemp("vsix") / "codekernel.vsix"
    dist_vscode.pack(file)
    with zipfile.ZipFile(file) as archive:
        yield archive


@pytest.fixture(scope="module")
def about(vsix: zipfile.ZipFile) -> Any:
    return json.loads(vsix.read("extension/package.json"))


def test_parts_that_need_no_kernel_do_what_they_say() -> None:
    require_node()
    check_with_node(EXTENSION / "tests" / "parts.test.js")


@pytest.mark.slow
@pytest.mark.timeout(FILE_SECONDS)
def test_the_extension_does_its_work_with_a_real_kernel() -> None:
    require_node()
    check_with_node(EXTENSION / "tests" / "extension.test.js")


def test_every_import_of_what_is_packed_is_packed(vsix: zipfile.ZipFile) -> None:
    names = set(vsix.namelist())
    modules = [name for name in names if name.endswith(".js")]
    assert len(modules) > 30
    for name in modules:
        text = vsix.read(name).decode()
        for target in (found[0] or found[1] for found in IMPORT.findall(text)):
            if target == "vscode" or target.startswith("node:"):
                continue
            assert target.startswith("."), f"{name} imports {target}, which nothing provides"
            parts: list[str] = []
            for part in (PurePosixPath(name).parent / target).parts:
                parts = parts[:-1] if part == ".." else [*parts, part]
            assert "/".join(parts) in names, f"{name} imports {target}"


def test_what_the_description_names_is_packed(vsix: zipfile.ZipFile, about: Any) -> None:
    names = set(vsix.namelist())
    containers = about["contributes"]["viewsContainers"]["activitybar"]
    files = [about["main"], about["icon"], *(each["icon"] for each in containers)]
    assert {f"extension/{file.removeprefix('./')}" for file in files} <= names
    manifest = ET.fromstring(vsix.read("extension.vsixmanifest"))  # noqa: S314 - our own file
    assets = [asset.attrib["Path"] for asset in manifest.iter(f"{NAMESPACE}Asset")]
    assert set(assets) <= names
    endings = {PurePosixPath(name).suffix for name in names - {"[Content_Types].xml"}}
    assert endings <= dist_vscode.CONTENT_TYPES.keys()


def test_the_version_is_that_of_the_kernel(vsix: zipfile.ZipFile, about: Any) -> None:
    manifest = ET.fromstring(vsix.read("extension.vsixmanifest"))  # noqa: S314 - our own file
    (identity,) = manifest.iter(f"{NAMESPACE}Identity")
    assert about["version"] == identity.attrib["Version"] == codekernel.__version__


def test_the_same_files_give_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        dist_vscode.pack(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_every_command_of_a_menu_or_key_exists(about: Any) -> None:
    contributes = about["contributes"]
    offered = {each["command"] for each in contributes["commands"]}
    menus = [entry for entries in contributes["menus"].values() for entry in entries]
    used = {
        entry["command"] for entry in [*menus, *contributes["keybindings"]] if "command" in entry
    }
    welcome = "".join(each["contents"] for each in contributes["viewsWelcome"])
    assert used | set(re.findall(r"command:([\w.]+)", welcome)) <= offered


def test_a_folder_cannot_say_which_program_is_started(about: Any) -> None:
    path = about["contributes"]["configuration"]["properties"]["codekernel.path"]
    assert path["scope"] == "machine"
    assert about["capabilities"]["untrustedWorkspaces"]["supported"] is False


def test_every_setting_that_is_read_is_declared(about: Any) -> None:
    declared = set(about["contributes"]["configuration"]["properties"])
    text = "".join(file.read_text(encoding="utf-8") for file in EXTENSION.glob("src/*.js"))
    read = re.findall(r"(?:[sS]ettings(?:\(\))?|Configuration\('codekernel'\))\.get\('(\w+)'", text)
    assert {f"codekernel.{name}" for name in read} == declared
