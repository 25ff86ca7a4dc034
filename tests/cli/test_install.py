"""``codekernel install`` as a person runs it, and the server that an agent starts afterwards."""

import json
import os
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from support.command_line import Terminal, codekernel

pytestmark = pytest.mark.slow

CODEX = 'model = "gpt-5"  # mine\n'


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home folder with Codex and Cursor in it."""
    folder = tmp_path / "home"
    (folder / ".codex").mkdir(parents=True)
    (folder / ".cursor").mkdir()
    (folder / ".codex/config.toml").write_text(CODEX)
    return folder


@pytest.fixture
def place(home: Path) -> dict[str, str]:
    """The environment that leads there."""
    return {"HOME": str(home), "USERPROFILE": str(home), "PATH": ""}


def read_all(home: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in home.rglob("*") if path.is_file()}


def test_install_and_uninstall_as_a_user(
    user_data: Path, repo: Path, home: Path, place: dict[str, str]
) -> None:
    before = read_all(home)
    dry = codekernel(user_data, repo, "install", "--dry-run", **place)
    assert (dry.returncode, dry.stderr) == (0, "")
    assert "Codex: add" in dry.stdout
    assert "    +[mcp_servers.codekernel]" in dry.stdout
    assert "Cursor: create" in dry.stdout
    assert read_all(home) == before

    refused = codekernel(user_data, repo, "install", **place)
    assert refused.returncode == 0
    assert "say --yes" in refused.stderr
    assert read_all(home) == before

    done = codekernel(user_data, repo, "install", "--yes", **place)
    assert (done.returncode, done.stderr) == (0, "")
    assert "created: 1\nadded: 1\n" in done.stdout
    assert "Codex: the config of a project" in done.stdout
    written = read_all(home)
    assert (home / ".codex/config.toml").read_text().startswith(CODEX)

    again = codekernel(user_data, repo, "install", "--yes", **place)
    assert again.returncode == 0
    assert "unchanged" in again.stdout
    assert read_all(home) == written

    gone = codekernel(user_data, repo, "uninstall", "--yes", **place)
    assert (gone.returncode, gone.stderr) == (0, "")
    assert read_all(home) == before
    nothing = codekernel(user_data, repo, "uninstall", "--yes", **place)
    assert nothing.stdout == "nothing is installed\n"


def test_a_program_gets_the_changes_as_json_and_writes_only_with_yes(
    user_data: Path, repo: Path, home: Path, place: dict[str, str]
) -> None:
    words = ("install", "--agent", "codex", "--json")
    (planned,) = json.loads(codekernel(user_data, repo, *words, **place).stdout)
    assert planned["agents"] == ["codex"]
    assert planned["part"] == "server"
    assert planned["path"] == str(home / ".codex/config.toml")
    assert (planned["action"], planned["isWritten"]) == ("add", False)
    assert "+[mcp_servers.codekernel]" in planned["diff"]
    assert (home / ".codex/config.toml").read_text() == CODEX
    (written,) = json.loads(codekernel(user_data, repo, *words, "--yes", **place).stdout)
    assert written == {**planned, "isWritten": True}
    assert (home / ".codex/config.toml").read_text() != CODEX


def test_keys_beside_the_change_are_not_shown(
    user_data: Path, repo: Path, home: Path, place: dict[str, str]
) -> None:
    key = "sk-ant-api03-" + "Ab3dEf6hIj9" * 8
    text = json.dumps({"mcpServers": {"a": {"env": {"ANTHROPIC_API_KEY": key}}}}, indent=1)
    (home / ".cursor/mcp.json").write_text(text.replace(" }\n  }\n", " } } "))
    shown = codekernel(user_data, repo, "install", "--agent", "cursor", "--yes", **place).stdout
    assert "codekernel" in shown
    assert key not in shown
    assert key in (home / ".cursor/mcp.json").read_text()


def test_a_broken_file_is_named_and_the_others_are_written(
    user_data: Path, repo: Path, home: Path, place: dict[str, str]
) -> None:
    (home / ".cursor/mcp.json").write_text('{\n"a": 1\n"b": 2}')
    done = codekernel(user_data, repo, "install", "--yes", **place)
    assert done.returncode == 1
    assert "Cursor: left alone" in done.stdout
    assert "line 3: a comma or } was expected" in done.stdout
    assert "added: 1" in done.stdout
    assert (home / ".cursor/mcp.json").read_text() == '{\n"a": 1\n"b": 2}'


def test_a_project_gets_files_of_its_own(
    user_data: Path, repo: Path, home: Path, place: dict[str, str]
) -> None:
    words = ("--project", "--agent", "claude", "--agent", "goose", "--yes")
    before = read_all(repo)
    done = codekernel(
        user_data, repo, "install", *words, "--with", "instructions,skill,subagent", **place
    )
    assert done.returncode == 0, done.stderr
    assert "no file in a project lists the servers of Goose" in done.stderr
    server = json.loads((repo / ".mcp.json").read_text())["mcpServers"]["codekernel"]
    assert server == {"type": "stdio", "command": "codekernel", "args": ["mcp"]}
    assert "codekernel:begin" in (repo / "CLAUDE.md").read_text()
    assert (repo / ".claude/skills/codekernel/SKILL.md").exists()
    assert (repo / ".claude/agents/codekernel.md").exists()
    hint = codekernel(user_data, repo, "uninstall", "--yes", **place).stdout
    assert f"codekernel uninstall --project {repo}" in hint
    assert codekernel(user_data, repo, "uninstall", *words, **place).returncode == 0
    assert read_all(repo) == before


def test_an_unknown_agent_or_part_is_an_error_that_lists_the_known_ones(
    user_data: Path, repo: Path, place: dict[str, str]
) -> None:
    done = codekernel(user_data, repo, "install", "--agent", "emacs", **place)
    assert done.returncode == 2
    assert "claude, codex, gemini" in done.stderr
    done = codekernel(user_data, repo, "install", "--with", "hooks", **place)
    assert done.returncode == 2
    assert "instructions, skill, subagent" in done.stderr


def test_a_machine_without_agents_says_how_to_name_one(
    user_data: Path, repo: Path, tmp_path: Path, place: dict[str, str]
) -> None:
    empty = {**place, "HOME": str(tmp_path), "USERPROFILE": str(tmp_path)}
    (tmp_path / "home").rename(tmp_path / "other")
    done = codekernel(user_data, repo, "install", **empty)
    assert done.returncode == 2
    assert "name one with --agent: claude" in done.stderr


@pytest.mark.skipif(os.name == "nt", reason="there is no pseudo-terminal")
@pytest.mark.parametrize("typed", ["y\n", "\n"])
def test_a_person_is_asked(
    user_data: Path, repo: Path, home: Path, place: dict[str, str], typed: str
) -> None:
    is_written = typed == "y\n"
    with Terminal(user_data, repo, "install", "--agent", "codex", **place) as screen:
        screen.read_until(lambda shown: "Write this? [y/N]" in shown)
        screen.type(typed)
        code, shown = screen.finish()
    assert code == 0
    assert ("added: 1" in shown) == is_written
    assert ("nothing was written" in shown) != is_written
    assert ("codekernel" in (home / ".codex/config.toml").read_text()) == is_written


def test_the_written_command_starts_the_server_from_a_bare_environment(
    user_data: Path, repo: Path, home: Path, place: dict[str, str]
) -> None:
    codekernel(user_data, repo, "install", "--agent", "codex", "--yes", **place)
    config = tomllib.loads((home / ".codex/config.toml").read_text())
    entry: dict[str, Any] = config["mcp_servers"]["codekernel"]
    params = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    environ = {"CODEKERNEL_STANDALONE": "1", "HOME": str(home)}
    if os.name == "nt":
        environ["SYSTEMROOT"] = os.environ["SYSTEMROOT"]
    done = subprocess.run(
        [entry["command"], *entry["args"]],
        input=json.dumps(hello) + "\n",
        capture_output=True,
        text=True,
        cwd=repo,
        env=environ,
        timeout=100,
        check=False,
    )
    reply = json.loads(done.stdout.splitlines()[0])
    assert reply["result"]["serverInfo"]["name"] == "codekernel", done.stderr
    assert str(user_data) in entry["args"]
