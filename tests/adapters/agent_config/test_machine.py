"""The command that is written starts the server from an environment that is not ours."""

import sys
import sysconfig
from pathlib import Path

import pytest
from codekernel import __version__
from codekernel.adapters.agent_config.machine import (
    ServerCommand,
    find_user_command,
    make_project_command,
)
from codekernel.storage.user_data import UserData, locate_user_data

USUAL = locate_user_data(None, {})


@pytest.fixture
def scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that an installation puts its programs into."""
    folder = tmp_path / "venv" / "bin"
    folder.mkdir(parents=True)
    monkeypatch.setattr(sysconfig, "get_path", lambda _: str(folder))
    return folder


def make_program(file: Path) -> str:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch(mode=0o755)
    return str(file)


def program_name() -> str:
    return "codekernel.exe" if sys.platform == "win32" else "codekernel"


def test_the_installed_program_is_named_by_its_whole_path(scripts: Path) -> None:
    program = make_program(scripts / program_name())
    assert find_user_command({"PATH": ""}, USUAL) == ServerCommand(program, ("mcp",))


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege")
def test_a_link_on_the_path_is_named_because_updates_keep_it(scripts: Path, tmp_path: Path) -> None:
    make_program(scripts / program_name())
    links = tmp_path / "links"
    links.mkdir()
    (links / program_name()).symlink_to(scripts / program_name())
    found = find_user_command({"PATH": str(links)}, USUAL)
    assert found.program == str(links / program_name())


def test_another_installation_on_the_path_is_not_taken(scripts: Path, tmp_path: Path) -> None:
    program = make_program(scripts / program_name())
    make_program(tmp_path / "other" / program_name())
    assert find_user_command({"PATH": str(tmp_path / "other")}, USUAL).program == program


def test_a_checkout_without_a_program_is_run_by_its_python(scripts: Path) -> None:
    expected = ServerCommand(sys.executable, ("-m", "codekernel", "mcp"))
    assert find_user_command({"PATH": ""}, USUAL) == expected


def test_uvx_is_named_if_it_runs_us_because_its_cache_may_be_emptied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "uv" / "archive-v0" / "abc"))
    suffix = ".exe" if sys.platform == "win32" else ""
    uvx = make_program(tmp_path / "bin" / f"uvx{suffix}")
    found = find_user_command({"PATH": str(tmp_path / "bin"), "PATHEXT": ".EXE"}, USUAL)
    assert found.program.lower() == uvx.lower()
    assert found.arguments == (f"codekernel=={__version__}", "mcp")


def test_a_folder_of_user_data_that_was_chosen_is_named(scripts: Path, tmp_path: Path) -> None:
    found = find_user_command({"PATH": ""}, UserData(tmp_path))
    assert found.arguments[-2:] == ("--user-data", str(tmp_path))


def test_a_project_names_the_program_alone() -> None:
    assert make_project_command() == ServerCommand("codekernel", ("mcp",))
