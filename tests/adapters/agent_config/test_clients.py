"""Each agent is declared once, with files that lie where it reads them on each system."""

from pathlib import Path
from typing import Any

import pytest
from codekernel.adapters.agent_config.clients import CLIENTS, AgentClient
from codekernel.adapters.agent_config.formats import get_format
from codekernel.adapters.agent_config.machine import MachineFolders, ServerCommand
from codekernel.adapters.agent_config.targets import SERVER, InstallScope
from codekernel.cli.setup_arguments import PARTS

COMMAND = ServerCommand("/opt/bin/codekernel", ("mcp",))
HOME = Path("/home/me")
ENVIRONMENTS = {
    "linux": {"PATH": ""},
    "darwin": {"PATH": ""},
    "win32": {
        "PATH": "",
        "APPDATA": "/home/me/AppData/Roaming",
        "LOCALAPPDATA": "/home/me/AppData/Local",
    },
}
# Linux, macOS and Windows where they differ; below the home folder.
USER_CONFIGS: dict[str, Any] = {
    "claude": ".claude.json",
    "codex": ".codex/config.toml",
    "gemini": ".gemini/settings.json",
    "antigravity": ".gemini/config/mcp_config.json",
    "copilot": ".copilot/mcp-config.json",
    "vscode": (
        ".config/Code/User/mcp.json",
        "Library/Application Support/Code/User/mcp.json",
        "AppData/Roaming/Code/User/mcp.json",
    ),
    "vscode-insiders": (
        ".config/Code - Insiders/User/mcp.json",
        "Library/Application Support/Code - Insiders/User/mcp.json",
        "AppData/Roaming/Code - Insiders/User/mcp.json",
    ),
    "cursor": ".cursor/mcp.json",
    "devin": (
        ".config/devin/mcp_config.json",
        ".config/devin/mcp_config.json",
        "AppData/Roaming/devin/mcp_config.json",
    ),
    "windsurf": ".codeium/windsurf/mcp_config.json",
    "zed": (
        ".config/zed/settings.json",
        ".config/zed/settings.json",
        "AppData/Roaming/zed/settings.json",
    ),
    "opencode": ".config/opencode/opencode.jsonc",
    "kilo": ".config/kilo/kilo.jsonc",
    "cline": ".cline/data/settings/cline_mcp_settings.json",
    "junie": ".junie/mcp/mcp.json",
    "jetbrains-ai": ".ai/mcp/mcp.json",
    "jetbrains-copilot": (
        ".config/github-copilot/intellij/mcp.json",
        ".config/github-copilot/intellij/mcp.json",
        "AppData/Local/github-copilot/intellij/mcp.json",
    ),
    "goose": (
        ".config/goose/config.yaml",
        ".config/goose/config.yaml",
        "AppData/Roaming/Block/goose/config/config.yaml",
    ),
    "amp": ".config/amp/settings.json",
    "qwen": ".qwen/settings.json",
    "kiro": ".kiro/settings/mcp.json",
}
EVERY_CLIENT = pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)


def machine(platform: str = "linux", home: Path = HOME, **environ: str) -> MachineFolders:
    return MachineFolders(home, {**ENVIRONMENTS[platform], **environ}, platform)


def server_path(client: AgentClient, scope: InstallScope) -> Path:
    (target,) = scope.list_targets([client], ())
    assert target.part == SERVER
    return target.path


def test_at_least_fifteen_agents_are_known_by_names_of_their_own() -> None:
    names = [client.name for client in CLIENTS]
    assert len(names) == len(set(names)) >= 15
    assert set(names) == set(USER_CONFIGS)


@EVERY_CLIENT
@pytest.mark.parametrize("platform", ENVIRONMENTS)
def test_the_file_of_a_user_lies_where_the_agent_reads_it(
    client: AgentClient, platform: str
) -> None:
    places = USER_CONFIGS[client.name]
    is_same = isinstance(places, str)
    expected = places if is_same else places[list(ENVIRONMENTS).index(platform)]
    scope = InstallScope(machine(platform), COMMAND)
    assert server_path(client, scope) == HOME / expected


@EVERY_CLIENT
def test_the_files_of_a_project_lie_in_it(client: AgentClient) -> None:
    project = Path("/work/app")
    scope = InstallScope(machine(), COMMAND, project)
    targets = scope.list_targets([client], PARTS)
    assert all(target.path.is_relative_to(project) for target in targets)
    assert any(target.part == SERVER for target in targets) == bool(client.project_config)


@EVERY_CLIENT
def test_the_entry_is_read_back_from_the_format_of_the_agent(client: AgentClient) -> None:
    (target,) = InstallScope(machine(), COMMAND).list_targets([client], ())
    form = get_format(target.file_format)
    document = form.load(form.add("", target.keys, target.value))
    for key in target.keys:
        document = document[key]
    assert document == target.value
    assert "/opt/bin/codekernel" in str(document)


def entry_of(name: str) -> object:
    client = next(each for each in CLIENTS if each.name == name)
    (target,) = InstallScope(machine(), COMMAND).list_targets([client], ())
    return target.keys[:-1], target.value


def test_the_shapes_are_those_that_the_agents_read() -> None:
    plain = {"command": "/opt/bin/codekernel", "args": ["mcp"]}
    assert entry_of("codex") == (("mcp_servers",), plain)
    assert entry_of("claude") == (("mcpServers",), {"type": "stdio", **plain})
    assert entry_of("vscode") == (("servers",), {"type": "stdio", **plain})
    assert entry_of("zed") == (("context_servers",), plain)
    assert entry_of("amp") == (("amp.mcpServers",), plain)
    assert entry_of("copilot") == (("mcpServers",), {"type": "local", **plain, "tools": ["*"]})
    one_list = {"type": "local", "command": ["/opt/bin/codekernel", "mcp"], "enabled": True}
    assert entry_of("opencode") == (("mcp",), one_list)
    repo = ["mcp", "--repo", "${workspaceFolder}"]
    assert entry_of("cursor") == (("mcpServers",), {**plain, "args": repo})


def test_a_variable_of_the_environment_moves_a_file() -> None:
    codex = next(each for each in CLIENTS if each.name == "codex")
    scope = InstallScope(machine(CODEX_HOME="/elsewhere"), COMMAND)
    assert server_path(codex, scope) == Path("/elsewhere/config.toml")
    zed = next(each for each in CLIENTS if each.name == "zed")
    scope = InstallScope(machine(XDG_CONFIG_HOME="/conf"), COMMAND)
    assert server_path(zed, scope) == Path("/conf/zed/settings.json")


def test_the_file_that_exists_is_used(tmp_path: Path) -> None:
    opencode = next(each for each in CLIENTS if each.name == "opencode")
    file = tmp_path / ".config/opencode/opencode.json"
    file.parent.mkdir(parents=True)
    file.touch()
    assert server_path(opencode, InstallScope(machine(home=tmp_path), COMMAND)) == file


def test_agents_are_found_by_their_folder_or_their_program(tmp_path: Path) -> None:
    def found(scope: InstallScope) -> list[str]:
        return [client.name for client in scope.find_agents()]

    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "codex").touch(mode=0o755)
    assert found(InstallScope(machine(home=tmp_path), COMMAND)) == []
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".gemini").mkdir()  # may be Antigravity's
    here = machine(home=tmp_path, PATH=str(programs))
    assert found(InstallScope(here, COMMAND)) == ["codex", "cursor"]
    project = tmp_path / "project"
    (project / ".zed").mkdir(parents=True)
    (project / ".zed/settings.json").touch()
    assert found(InstallScope(here, COMMAND, project)) == ["codex", "cursor", "zed"]


def test_agents_that_read_the_same_file_share_a_target() -> None:
    chosen = [each for each in CLIENTS if each.name in {"codex", "opencode", "amp"}]
    scope = InstallScope(machine(), COMMAND, Path("/work/app"))
    targets = scope.list_targets(chosen, ["instructions"])
    (shared,) = [target for target in targets if target.part == "instructions"]
    assert shared.agents == ("codex", "opencode", "amp")
    assert shared.path == Path("/work/app/AGENTS.md")


def test_every_part_that_can_be_asked_for_is_known_to_some_agent() -> None:
    targets = InstallScope(machine(), COMMAND).list_targets(CLIENTS, PARTS)
    assert {target.part for target in targets} == {SERVER, *PARTS}
