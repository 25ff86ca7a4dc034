"""The coding agents that codekernel can be installed into: one declaration for each.

Paths are templates (``machine_folders.py``); of several, the one that exists is used.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from codekernel.adapters.agent_config.formats import JSON, JSONC, TOML, YAML
from codekernel.adapters.agent_config.machine import ServerCommand

EntryShape = Callable[[ServerCommand], dict[str, Any]]

# The name of the server, and of the skill and the sub-agent.
ENTRY_NAME = "codekernel"


def shape_plain(server: ServerCommand) -> dict[str, Any]:
    """Return the entry that most clients read."""
    return {"command": server.program, "args": list(server.arguments)}


def shape_typed(server: ServerCommand) -> dict[str, Any]:
    """Return the entry of clients that also have servers on the network."""
    return {"type": "stdio", **shape_plain(server)}


def shape_copilot(server: ServerCommand) -> dict[str, Any]:
    """Return the entry of Copilot CLI, which offers no tool that is not listed."""
    return {"type": "local", **shape_plain(server), "tools": ["*"]}


def shape_one_list(server: ServerCommand) -> dict[str, Any]:
    """Return the entry of opencode and those that descend from it."""
    return {"type": "local", "command": [server.program, *server.arguments], "enabled": True}


def shape_goose(server: ServerCommand) -> dict[str, Any]:
    """Return the entry of an extension of Goose."""
    return {
        "name": ENTRY_NAME,
        "type": "stdio",
        "cmd": server.program,
        "args": list(server.arguments),
        "envs": {},
        "enabled": True,
        "timeout": 300,  # what Goose writes itself
    }


@dataclass(frozen=True, slots=True)
class AgentFiles:
    """Where an agent reads texts; empty where it reads none."""

    instructions: tuple[str, ...] = ()
    skills: tuple[str, ...] = ()  # the folder that has one folder for each skill
    subagents: tuple[str, ...] = ()  # the file


@dataclass(frozen=True, slots=True)
class AgentClient:
    """A coding agent: how it is found, where its servers are listed, and what else it reads."""

    name: str
    title: str
    programs: tuple[str, ...]
    signs: tuple[str, ...]  # what lies there only if the agent was used
    user_config: tuple[str, ...]
    project_config: tuple[str, ...] = ()
    file_format: str = JSONC
    keys: tuple[str, ...] = ("mcpServers",)
    shape: EntryShape = shape_plain
    workspace_variable: str = ""  # where a server does not run in the folder that is open
    user_files: AgentFiles = AgentFiles()
    project_files: AgentFiles = AgentFiles(("AGENTS.md",))
    advice: str = ""  # what is left for the user to do


CLIENTS = (
    AgentClient(
        "claude",
        "Claude Code",
        ("claude",),
        ("$CLAUDE_CONFIG_DIR", "~/.claude", "~/.claude.json"),
        ("$CLAUDE_CONFIG_DIR/.claude.json", "~/.claude.json"),
        (".mcp.json",),
        file_format=JSON,
        shape=shape_typed,
        user_files=AgentFiles(
            ("$CLAUDE_CONFIG_DIR/CLAUDE.md", "~/.claude/CLAUDE.md"),
            ("$CLAUDE_CONFIG_DIR/skills", "~/.claude/skills"),
            ("$CLAUDE_CONFIG_DIR/agents/codekernel.md", "~/.claude/agents/codekernel.md"),
        ),
        project_files=AgentFiles(
            ("CLAUDE.md",), (".claude/skills",), (".claude/agents/codekernel.md",)
        ),
        advice="start it again; it asks once before it uses a server of a project",
    ),
    AgentClient(
        "codex",
        "Codex",
        ("codex",),
        ("$CODEX_HOME", "~/.codex"),
        ("$CODEX_HOME/config.toml", "~/.codex/config.toml"),
        (".codex/config.toml",),
        file_format=TOML,
        keys=("mcp_servers",),
        user_files=AgentFiles(
            ("$CODEX_HOME/AGENTS.md", "~/.codex/AGENTS.md"),
            ("~/.agents/skills",),
            ("$CODEX_HOME/agents/codekernel.toml", "~/.codex/agents/codekernel.toml"),
        ),
        project_files=AgentFiles(("AGENTS.md",), (".agents/skills",)),
        advice="the config of a project counts once the project is trusted",
    ),
    AgentClient(
        "gemini",
        "Gemini CLI",
        ("gemini",),
        ("~/.gemini/settings.json",),  # ~/.gemini alone may be Antigravity's
        ("~/.gemini/settings.json",),
        (".gemini/settings.json",),
        user_files=AgentFiles(
            ("~/.gemini/GEMINI.md",), ("~/.gemini/skills",), ("~/.gemini/agents/codekernel.md",)
        ),
        project_files=AgentFiles(("GEMINI.md",), (".agents/skills",)),
    ),
    AgentClient(
        "antigravity",
        "Antigravity",
        ("agy", "antigravity"),
        ("~/.gemini/config", "~/.gemini/antigravity", "~/.gemini/antigravity-cli"),
        ("~/.gemini/config/mcp_config.json", "~/.gemini/antigravity/mcp_config.json"),
        (".agents/mcp_config.json",),
        file_format=JSON,
        user_files=AgentFiles(("~/.gemini/GEMINI.md",), ("~/.gemini/config/skills",)),
        project_files=AgentFiles(("GEMINI.md",), (".agents/skills",)),
    ),
    AgentClient(
        "copilot",
        "Copilot CLI",
        ("copilot",),
        ("$COPILOT_HOME", "~/.copilot/mcp-config.json", "~/.copilot/config.json"),
        ("$COPILOT_HOME/mcp-config.json", "~/.copilot/mcp-config.json"),
        (".github/mcp.json",),  # .mcp.json, which it reads too, is Claude Code's
        file_format=JSON,
        shape=shape_copilot,
        user_files=AgentFiles(
            (),
            ("$COPILOT_HOME/skills", "~/.copilot/skills"),
            ("$COPILOT_HOME/agents/codekernel.agent.md", "~/.copilot/agents/codekernel.agent.md"),
        ),
        project_files=AgentFiles(("AGENTS.md",), (".github/skills",)),
    ),
    AgentClient(
        "vscode",
        "VS Code",
        ("code",),
        ("{config}/Code/User", "~/.vscode"),
        ("{config}/Code/User/mcp.json",),
        (".vscode/mcp.json",),
        keys=("servers",),
        shape=shape_typed,
    ),
    AgentClient(
        "vscode-insiders",
        "VS Code Insiders",
        ("code-insiders",),
        ("{config}/Code - Insiders/User",),
        ("{config}/Code - Insiders/User/mcp.json",),
        (".vscode/mcp.json",),
        keys=("servers",),
        shape=shape_typed,
    ),
    AgentClient(
        "cursor",
        "Cursor",
        ("cursor", "cursor-agent"),
        ("~/.cursor",),
        ("~/.cursor/mcp.json",),
        (".cursor/mcp.json",),
        workspace_variable="${workspaceFolder}",
        user_files=AgentFiles((), ("~/.cursor/skills",), ("~/.cursor/agents/codekernel.md",)),
        project_files=AgentFiles(
            ("AGENTS.md",), (".cursor/skills",), (".cursor/agents/codekernel.md",)
        ),
        advice="enable the server in its settings, under MCP; if it does not find the folder, use"
        " --project",
    ),
    AgentClient(
        "devin",
        "Devin Desktop (Windsurf)",
        ("devin",),
        ("{roaming}/devin",),
        ("{roaming}/devin/mcp_config.json",),
        (".devin/mcp_config.json",),
        user_files=AgentFiles(("{roaming}/devin/AGENTS.md",)),
        project_files=AgentFiles(("AGENTS.md",), (".devin/skills",)),
    ),
    AgentClient(
        "windsurf",
        "Windsurf before Devin Desktop",
        ("windsurf",),
        ("~/.codeium/windsurf",),
        ("~/.codeium/windsurf/mcp_config.json",),
        (".windsurf/mcp_config.json",),
    ),
    AgentClient(
        "zed",
        "Zed",
        ("zed", "zeditor"),
        ("{roaming}/zed",),
        ("linux:$FLATPAK_XDG_CONFIG_HOME/zed/settings.json", "{roaming}/zed/settings.json"),
        (".zed/settings.json",),
        keys=("context_servers",),
    ),
    AgentClient(
        "opencode",
        "opencode",
        ("opencode",),
        ("{xdg}/opencode",),
        ("{xdg}/opencode/opencode.jsonc", "{xdg}/opencode/opencode.json"),
        ("opencode.jsonc", "opencode.json"),
        keys=("mcp",),
        shape=shape_one_list,
        user_files=AgentFiles(
            ("{xdg}/opencode/AGENTS.md",),
            ("{xdg}/opencode/skills",),
            ("{xdg}/opencode/agents/codekernel.md",),
        ),
        project_files=AgentFiles(
            ("AGENTS.md",), (".opencode/skills",), (".opencode/agents/codekernel.md",)
        ),
    ),
    AgentClient(
        "kilo",
        "Kilo Code",
        ("kilo",),
        ("{xdg}/kilo",),
        ("{xdg}/kilo/kilo.jsonc", "{xdg}/kilo/kilo.json"),
        (".kilo/kilo.jsonc", "kilo.jsonc"),
        keys=("mcp",),
        shape=shape_one_list,
        user_files=AgentFiles((), ("~/.kilo/skills",), ("{xdg}/kilo/agents/codekernel.md",)),
    ),
    AgentClient(
        "cline",
        "Cline",
        ("cline",),
        ("$CLINE_DIR", "~/.cline", "{config}/Code/User/globalStorage/saoudrizwan.claude-dev"),
        (
            "$CLINE_MCP_SETTINGS_PATH",
            "$CLINE_DATA_DIR/settings/cline_mcp_settings.json",
            "$CLINE_DIR/data/settings/cline_mcp_settings.json",
            "~/.cline/data/settings/cline_mcp_settings.json",
            (
                "{config}/Code/User/globalStorage/saoudrizwan.claude-dev"
                "/settings/cline_mcp_settings.json"
            ),
        ),
        file_format=JSON,
        user_files=AgentFiles(("~/.cline/rules/codekernel.md",)),
        project_files=AgentFiles((".clinerules/codekernel.md",), (".cline/skills",)),
    ),
    AgentClient(
        "junie",
        "JetBrains Junie",
        ("junie",),
        ("~/.junie",),
        ("~/.junie/mcp/mcp.json",),
        (".junie/mcp/mcp.json",),
        file_format=JSON,
        project_files=AgentFiles((".junie/AGENTS.md",), (".junie/skills",)),
    ),
    AgentClient(
        "jetbrains-ai",
        "JetBrains AI Assistant",
        (),
        ("~/.ai/mcp",),
        ("~/.ai/mcp/mcp.json",),
        (".ai/mcp/mcp.json",),
        file_format=JSON,
    ),
    AgentClient(
        "jetbrains-copilot",
        "Copilot in JetBrains IDEs",
        (),
        ("win32:$LOCALAPPDATA/github-copilot/intellij", "{xdg}/github-copilot/intellij"),
        (
            "win32:$LOCALAPPDATA/github-copilot/intellij/mcp.json",
            "{xdg}/github-copilot/intellij/mcp.json",
        ),
        keys=("servers",),
        shape=shape_typed,
        advice="start the IDE again; it reads the file only then",
    ),
    AgentClient(
        "goose",
        "Goose",
        ("goose",),
        ("win32:$APPDATA/Block/goose/config", "~/.config/goose"),
        ("win32:$APPDATA/Block/goose/config/config.yaml", "~/.config/goose/config.yaml"),
        file_format=YAML,
        keys=("extensions",),
        shape=shape_goose,
        user_files=AgentFiles(("~/.config/goose/.goosehints",)),
    ),
    AgentClient(
        "amp",
        "Amp",
        ("amp",),
        ("{xdg}/amp",),
        ("{xdg}/amp/settings.json", "{xdg}/amp/settings.jsonc"),
        (".amp/settings.json", ".amp/settings.jsonc"),
        keys=("amp.mcpServers",),
        user_files=AgentFiles(("{xdg}/AGENTS.md",), ("{xdg}/amp/skills",)),
        project_files=AgentFiles(("AGENTS.md",), (".agents/skills",)),
        advice="it asks once before it uses a server of a project",
    ),
    AgentClient(
        "qwen",
        "Qwen Code",
        ("qwen",),
        ("~/.qwen",),
        ("~/.qwen/settings.json",),
        (".qwen/settings.json",),
        user_files=AgentFiles(
            ("~/.qwen/QWEN.md",), ("~/.qwen/skills",), ("~/.qwen/agents/codekernel.md",)
        ),
        project_files=AgentFiles(("QWEN.md",), (".qwen/skills",)),
    ),
    AgentClient(
        "kiro",
        "Kiro",
        ("kiro", "kiro-cli"),
        ("~/.kiro",),
        ("~/.kiro/settings/mcp.json",),
        (".kiro/settings/mcp.json",),
        file_format=JSON,
        user_files=AgentFiles(("~/.kiro/steering/codekernel.md",)),
        project_files=AgentFiles((".kiro/steering/codekernel.md",)),
        advice="enable MCP in its settings",
    ),
)
