"""What is written for which agents: one target for each entry, with all agents that read it."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from codekernel.adapters.agent_config.clients import CLIENTS, ENTRY_NAME, AgentClient
from codekernel.adapters.agent_config.formats import BLOCK, CONTENT_KEYS, WHOLE_FILE
from codekernel.adapters.agent_config.machine import MachineFolders, ServerCommand

SERVER, INSTRUCTIONS, SKILL, SUBAGENT = "server", "instructions", "skill", "subagent"

_SUBAGENT_PURPOSE = (
    "Finds code in this repository: where something is implemented, who calls it, where an error"
    " message comes from. Give it one question; it answers with path:lines."
)


@dataclass(frozen=True, slots=True)
class InstallTarget:
    """An entry of a file, and the agents that read it."""

    agents: tuple[str, ...]
    part: str
    path: Path
    file_format: str
    keys: tuple[str, ...]
    value: Any


@dataclass(frozen=True, slots=True)
class InstallScope:
    """Where things are written: for a user, or into the folder of a project."""

    folders: MachineFolders
    server: ServerCommand
    project: Path | None = None

    def find_agents(self) -> list[AgentClient]:
        """Return the agents that are on this machine, or that the project is prepared for."""
        return [client for client in CLIENTS if self._is_here(client)]

    def _is_here(self, client: AgentClient) -> bool:
        if self.project and self.folders.has_any(client.project_config, self.project):
            return True
        return self.folders.find_program(client.programs) or self.folders.has_any(client.signs)

    def list_targets(
        self, clients: Iterable[AgentClient], parts: Iterable[str]
    ) -> list[InstallTarget]:
        """Return the targets; one that several agents read has all their names."""
        wanted = {SERVER, *parts}
        merged: dict[tuple[Path, tuple[str, ...]], InstallTarget] = {}
        for client in clients:
            for target in self._list_all(client):
                if target.part in wanted:
                    known = merged.get((target.path, target.keys))
                    agents = (*known.agents, client.name) if known else target.agents
                    merged[target.path, target.keys] = replace(known or target, agents=agents)
        return list(merged.values())

    def _list_all(self, client: AgentClient) -> Iterator[InstallTarget]:
        names, project = (client.name,), self.project
        choose = self.folders.choose_path
        if path := choose(client.project_config if project else client.user_config, project):
            server = self.server
            if client.workspace_variable:
                server = server.with_repository(client.workspace_variable)
            keys, value = (*client.keys, ENTRY_NAME), client.shape(server)
            yield InstallTarget(names, SERVER, path, client.file_format, keys, value)
        reads = client.project_files if project else client.user_files
        if path := choose(reads.instructions, project):
            text = _read_text("instructions.md")
            yield InstallTarget(names, INSTRUCTIONS, path, BLOCK, CONTENT_KEYS, text)
        if folder := choose(reads.skills, project):
            path, text = folder / ENTRY_NAME / "SKILL.md", _read_text("skill.md")
            yield InstallTarget(names, SKILL, path, WHOLE_FILE, CONTENT_KEYS, text)
        if path := choose(reads.subagents, project):
            text = make_subagent(client, path)
            yield InstallTarget(names, SUBAGENT, path, WHOLE_FILE, CONTENT_KEYS, text)


def make_subagent(client: AgentClient, path: Path) -> str:
    """Return the file of the sub-agent, as an agent wants it."""
    body = _read_text("subagent.md")
    if path.suffix == ".toml":
        head = f'name = "{ENTRY_NAME}"\ndescription = "{_SUBAGENT_PURPOSE}"\n'
        return f"{head}developer_instructions = '''\n{body}'''\n"
    # opencode takes the name from the file, and needs to know that it is no main agent.
    first = "mode: subagent" if client.keys == ("mcp",) else f"name: {ENTRY_NAME}"
    return f'---\n{first}\ndescription: "{_SUBAGENT_PURPOSE}"\n---\n\n{body}'


def _read_text(name: str) -> str:
    return (files(__package__) / "texts" / name).read_text(encoding="utf-8")
