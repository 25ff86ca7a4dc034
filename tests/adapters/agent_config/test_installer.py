"""Installing changes one entry of a file; uninstalling leaves the bytes that were there before."""

import os
import stat
from pathlib import Path

import pytest
from codekernel.adapters.agent_config.clients import CLIENTS, AgentClient
from codekernel.adapters.agent_config.config_file import InstallRecord
from codekernel.adapters.agent_config.formats import JSON, JSONC, TOML, YAML, get_format
from codekernel.adapters.agent_config.installer import (
    ChangeAction,
    PlannedChange,
    apply_change,
    list_unrecorded,
    plan_install,
    plan_uninstall,
    settle_unchanged,
)
from codekernel.adapters.agent_config.machine import MachineFolders, ServerCommand
from codekernel.adapters.agent_config.targets import InstallScope
from codekernel.adapters.agent_config.text_edits import RefusedEdit
from codekernel.cli.setup_arguments import PARTS
from codekernel.errors import StorageError
from codekernel.storage.user_data import UserData

# What is found in the wild, by format; {key} is the container of an agent's servers.
SAMPLES = {
    JSON: {
        "four spaces": '{{\n    "{key}": {{\n        "a": {{"x": 1}}\n    }},\n    "n": 1\n}}',
        "tabs": '{{\n\t"{key}": {{}}\n}}\n',
        "windows": '{{\r\n  "numStartups": 7,\r\n  "{key}": {{ }}\r\n}}\r\n',
        "minified": '{{"{key}":{{"a":{{"command":"x"}}}},"b":[1,2]}}',
        "mark": '\ufeff{{\n  "b": "\\u00e9"\n}}\n',
        "empty object": "{{}}\n",
        "empty": "",
        "blank": "\n\n",
    },
    TOML: {
        "comments": '# mine\nmodel = "x" # big\n\n[{key}.a]\ncommand = "y"\nargs = [\n "b",\n]\n',
        "windows": 'model = "x"\r\n\r\n[tui]\r\nnotifications = true',
        "mark": '\ufeffmodel = "x"\n',
        "empty": "",
        "blank": "\n",
    },
    YAML: {
        "comments": "A: 1 # one\n{key}:\n  # dev\n  developer:\n    enabled: true\n# end\nB: 2\n",
        "windows": "{key}:\r\n    x:\r\n        y: [1]\r\nB: 2\r\n",
        "flow": "{key}: {{}}\nB: 2\n",
        "no newline": "A: 1",
        "mark": "\ufeffA: 1\n",
        "empty": "",
    },
}
SAMPLES[JSONC] = {
    **SAMPLES[JSON],
    "comments": '// settings\n{{\n  "a": 1, // one\n  /* two */\n  "{key}": {{\n'
    '    "x": {{}}, // x\n    // "old": {{}},\n  }},\n}}\n',
    "comment at the end": '{{\n  "{key}": {{\n    "x": {{}} // no comma\n  }} // end\n}}\n',
}
COMMAND = ServerCommand("/opt/bin/codekernel", ("mcp",))
EVERY_SAMPLE = pytest.mark.parametrize(
    ("client", "sample"),
    [
        pytest.param(client, sample, id=f"{client.name}-{name}")
        for client in CLIENTS
        for name, sample in SAMPLES[client.file_format].items()
    ],
)


class InstallWorld:
    """A home folder, and installs into it."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.project = folder / "project"
        self.user_data = UserData(folder / "userData")
        self.command = COMMAND
        for each in (self.home, self.project):
            each.mkdir()

    def scope(self, *, in_project: bool = False) -> InstallScope:
        folders = MachineFolders(self.home, {"PATH": ""}, "linux")
        return InstallScope(folders, self.command, self.project if in_project else None)

    def config(self, name: str) -> Path:
        return self.scope().list_targets([find_client(name)], ())[0].path

    def write(self, name: str, text: str) -> Path:
        file = self.config(name)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode())
        return file

    def record(self) -> InstallRecord:
        return InstallRecord.open(self.user_data)

    def install(
        self, *names: str, parts: tuple[str, ...] = (), in_project: bool = False
    ) -> list[PlannedChange]:
        scope, record = self.scope(in_project=in_project), self.record()
        clients = [find_client(name) for name in names]
        plan = plan_install(scope.list_targets(clients, parts), record, scope.project)
        for change in plan:
            apply_change(change, record)
            settle_unchanged(change, record, is_install=True)
        return plan

    def uninstall(self, *names: str, in_project: bool = False) -> list[PlannedChange]:
        scope, record = self.scope(in_project=in_project), self.record()
        plan = plan_uninstall(record, names or None, scope.project)
        for change in plan:
            apply_change(change, record)
            settle_unchanged(change, record, is_install=False)
        return plan

    def files(self) -> dict[str, bytes | None]:
        """Everything below the home folder and the project."""
        return {
            str(path): path.read_bytes() if path.is_file() else None
            for folder in (self.home, self.project)
            for path in folder.rglob("*")
        }


def find_client(name: str) -> AgentClient:
    return next(client for client in CLIENTS if client.name == name)


def actions(plan: list[PlannedChange]) -> list[ChangeAction]:
    return [change.action for change in plan]


@pytest.fixture
def world(tmp_path: Path) -> InstallWorld:
    return InstallWorld(tmp_path)


@EVERY_SAMPLE
def test_a_file_has_the_same_bytes_after_install_and_uninstall(
    world: InstallWorld, client: AgentClient, sample: str
) -> None:
    file = world.write(client.name, sample.format(key=client.keys[0]))
    before = world.files()
    assert actions(world.install(client.name)) == [ChangeAction.ADD]
    written = world.files()
    assert written != before
    assert actions(world.install(client.name)) == [ChangeAction.UNCHANGED]
    assert world.files() == written
    entry = get_format(client.file_format).load(file.read_text(encoding="utf-8"))
    for key in (*client.keys, "codekernel"):
        entry = entry[key]
    assert entry
    assert actions(world.uninstall()) == [ChangeAction.REMOVE]
    assert world.files() == before
    assert world.record().list_changes() == []


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
@pytest.mark.parametrize("in_project", [False, True])
def test_files_and_folders_that_were_made_are_gone_after_uninstall(
    world: InstallWorld, client: AgentClient, *, in_project: bool
) -> None:
    plan = world.install(client.name, parts=PARTS, in_project=in_project)
    assert set(actions(plan)) == {ChangeAction.CREATE}
    assert len(world.files()) >= len(plan)
    assert set(actions(world.uninstall(in_project=in_project))) == {ChangeAction.DELETE}
    assert world.files() == {}


def test_what_was_installed_step_by_step_is_gone_after_one_uninstall(world: InstallWorld) -> None:
    for parts in ((), ("skill",), ("subagent",), ("instructions",)):
        world.install("claude", "codex", parts=parts)
    world.uninstall()
    assert world.files() == {}


def test_a_file_that_others_have_changed_since_loses_our_entry_alone(world: InstallWorld) -> None:
    file = world.write("gemini", '{\n  "theme": "a" // mine\n}\n')
    world.install("gemini")
    file.write_text(
        file.read_text().replace('"theme": "a"', '"theme": "b", "more": [1]'), encoding="utf-8"
    )
    world.uninstall()
    assert file.read_text() == '{\n  "theme": "b", "more": [1] // mine\n}\n'


def test_a_file_that_was_written_anew_by_its_program_loses_our_entry_alone(
    world: InstallWorld,
) -> None:
    file = world.write("claude", '{"numStartups": 1}')
    world.install("claude")
    file.write_text(
        '{"mcpServers":{"other":{},"codekernel":{"args":["mcp"],"disabled":false,'
        '"type":"stdio","command":"/opt/bin/codekernel"}},"numStartups":2}'
    )
    assert actions(world.install("claude")) == [ChangeAction.UNCHANGED]
    assert actions(world.uninstall()) == [ChangeAction.REMOVE]
    assert file.read_text() == '{"mcpServers":{"other":{}},"numStartups":2}'


def test_what_others_added_to_a_file_of_ours_stays(world: InstallWorld) -> None:
    world.install("claude")
    file = world.config("claude")
    file.write_text(file.read_text().replace("{\n", '{\n  "n": 1,\n', 1))
    assert actions(world.uninstall()) == [ChangeAction.REMOVE]
    assert file.read_text() == '{\n  "n": 1\n}\n'


def test_a_program_that_moved_is_updated_and_fields_of_others_are_kept(
    world: InstallWorld,
) -> None:
    file = world.write("goose", "A: 1\nextensions:\n  x: {}\n")
    before = file.read_bytes()
    world.install("goose")
    file.write_text(file.read_text().replace("    timeout:", "    bundled: null\n    timeout:"))
    world.command = ServerCommand("/new/codekernel", ("mcp",))
    assert actions(world.install("goose")) == [ChangeAction.UPDATE]
    assert '    cmd: "/new/codekernel"\n' in file.read_text()
    assert "    bundled: null\n" in file.read_text()
    assert actions(world.uninstall()) == [ChangeAction.REMOVE]
    assert file.read_bytes() == before


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("cursor", '{"mcpServers": {"codekernel": {"command": "uvx", "args": ["codekernel"]}}}'),
        ("codex", '[mcp_servers.codekernel]\nurl = "http://127.0.0.1:8123/mcp"\n'),
        ("goose", "extensions:\n  codekernel:\n    cmd: mine\n"),
    ],
)
def test_an_entry_of_the_user_is_left_alone_and_named(
    world: InstallWorld, name: str, text: str
) -> None:
    file = world.write(name, text)
    (change,) = world.install(name)
    assert (change.action, change.path) == (ChangeAction.KEPT, file)
    assert "codekernel, which install did not write" in change.reason
    targets = world.scope().list_targets([find_client(name)], ())
    assert actions(list_unrecorded(targets, world.record())) == [ChangeAction.KEPT]
    assert world.uninstall() == []
    assert file.read_text() == text


def test_an_entry_that_the_user_wrote_as_we_would_stays_his(world: InstallWorld) -> None:
    text = '{"mcpServers": {"codekernel": {"command": "/opt/bin/codekernel", "args": ["mcp"]}}}'
    file = world.write("gemini", text)
    assert actions(world.install("gemini")) == [ChangeAction.UNCHANGED]
    assert world.uninstall() == []
    assert file.read_text() == text


def test_an_entry_that_the_user_changed_is_left_alone_and_named(world: InstallWorld) -> None:
    world.install("gemini")
    file = world.config("gemini")
    changed = file.read_text().replace("/opt/bin", "/my/own")
    file.write_text(changed)
    world.command = ServerCommand("/new/codekernel", ("mcp",))
    assert actions(world.install("gemini")) == [ChangeAction.KEPT]
    (change,) = world.uninstall()
    assert (change.action, change.reason) == (
        ChangeAction.KEPT,
        "you have changed what install wrote",
    )
    assert file.read_text() == changed


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("claude", b'{"a": 1,}'),
        ("claude", b"{ // comment\n}"),
        ("vscode", b'{"servers": {'),
        ("codex", b"a = = 1\n"),
        ("goose", b"a: [\n"),
        ("gemini", "{}".encode("utf-16")),
        ("gemini", b'{"a": "\xff"}'),
        ("zed", b"[]"),
    ],
)
def test_a_broken_file_is_left_alone_and_named(
    world: InstallWorld, name: str, content: bytes
) -> None:
    file = world.write(name, "")
    file.write_bytes(content)
    (change,) = world.install(name)
    assert (change.action, change.path) == (ChangeAction.BROKEN, file)
    assert change.reason
    assert file.read_bytes() == content
    assert not world.user_data.agent_installs_file.exists()


def test_a_file_that_broke_after_install_is_left_alone_and_stays_recorded(
    world: InstallWorld,
) -> None:
    file = world.write("zed", "{}")
    world.install("zed")
    whole = file.read_text()
    file.write_text(whole[:-3])
    assert actions(world.uninstall()) == [ChangeAction.BROKEN]
    assert file.read_text() == whole[:-3]
    file.write_text(whole)
    assert actions(world.uninstall()) == [ChangeAction.REMOVE]
    assert file.read_text() == "{}"


def test_a_read_only_file_is_left_alone_and_named(world: InstallWorld) -> None:
    file = world.write("cursor", "{}")
    file.chmod(0o444)
    (change,) = world.install("cursor")
    assert (change.action, change.reason) == (ChangeAction.REFUSED, "it is read-only")
    assert file.read_text() == "{}"


def test_a_folder_in_the_place_of_a_file_is_left_alone_and_named(world: InstallWorld) -> None:
    world.config("cursor").mkdir(parents=True)
    assert actions(world.install("cursor")) == [ChangeAction.BROKEN]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_a_link_stays_a_link_and_the_mode_stays_the_mode(
    world: InstallWorld, tmp_path: Path
) -> None:
    dotfile = tmp_path / "dotfiles.json"
    dotfile.write_text("{}")
    dotfile.chmod(0o640)
    link = world.config("cursor")
    link.parent.mkdir(parents=True)
    link.symlink_to(dotfile)
    world.install("cursor")
    assert link.is_symlink()
    assert "codekernel" in dotfile.read_text()
    assert stat.S_IMODE(dotfile.stat().st_mode) == 0o640
    world.uninstall()
    assert link.is_symlink()
    assert (dotfile.read_text(), stat.S_IMODE(dotfile.stat().st_mode)) == ("{}", 0o640)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such modes")
def test_a_new_file_of_a_user_is_his_alone(world: InstallWorld) -> None:
    world.install("cursor")
    assert stat.S_IMODE(world.config("cursor").stat().st_mode) == 0o600


def test_a_link_that_leads_nowhere_is_left_alone(world: InstallWorld) -> None:
    link = world.config("cursor")
    link.parent.mkdir(parents=True)
    link.symlink_to("gone.json")
    assert actions(world.install("cursor")) == [ChangeAction.BROKEN]


def test_a_file_that_changes_between_plan_and_write_is_not_overwritten(
    world: InstallWorld,
) -> None:
    file = world.write("claude", '{"n": 1}')
    scope, record = world.scope(), world.record()
    (change,) = plan_install(scope.list_targets([find_client("claude")], ()), record, None)
    file.write_text('{"n": 2}')
    with pytest.raises(RefusedEdit, match="has just changed it"):
        apply_change(change, record)
    assert file.read_text() == '{"n": 2}'
    assert actions(world.install("claude")) == [ChangeAction.ADD]


def test_a_block_that_two_agents_read_stays_until_both_are_uninstalled(
    world: InstallWorld,
) -> None:
    agents_file = world.project / "AGENTS.md"
    agents_file.write_text("# Rules\r\n\r\nBe kind.", newline="")
    world.install("codex", parts=("instructions",), in_project=True)
    text = agents_file.read_bytes()
    assert text.startswith(b"# Rules\r\n\r\nBe kind.\r\n\r\n<!-- codekernel:begin")
    world.install("amp", parts=("instructions",), in_project=True)
    assert agents_file.read_bytes() == text
    world.uninstall("codex", in_project=True)
    assert agents_file.read_bytes() == text
    world.uninstall("amp", in_project=True)
    assert agents_file.read_bytes() == b"# Rules\r\n\r\nBe kind."
    assert world.record().list_changes() == []


def test_a_block_that_the_user_edited_is_left_alone(world: InstallWorld) -> None:
    world.install("codex", parts=("instructions",), in_project=True)
    file = world.project / "AGENTS.md"
    file.write_text(file.read_text().replace("Finding code", "My words"))
    plan = world.uninstall(in_project=True)
    assert [change.action for change in plan if change.part == "instructions"] == [
        ChangeAction.KEPT
    ]
    assert "My words" in file.read_text()


def test_a_skill_of_the_user_with_our_name_is_left_alone(world: InstallWorld) -> None:
    file = world.home / ".claude/skills/codekernel/SKILL.md"
    file.parent.mkdir(parents=True)
    file.write_text("mine")
    plan = world.install("claude", parts=("skill",))
    assert [change.action for change in plan if change.part == "skill"] == [ChangeAction.KEPT]
    assert file.read_text() == "mine"


def test_the_record_holds_no_line_of_others(world: InstallWorld) -> None:
    world.write("claude", '{\n  "key": "sk-secret",\n  "mcpServers": {}\n}\n')
    world.install("claude")
    assert "sk-secret" not in world.user_data.agent_installs_file.read_text(encoding="utf-8")


def test_a_damaged_record_is_named(world: InstallWorld) -> None:
    world.user_data.root.mkdir()
    world.user_data.agent_installs_file.write_text('{"changes": [{}]}')
    with pytest.raises(StorageError, match=r"agent-installs\.json"):
        world.record()


def test_projects_and_the_user_are_uninstalled_apart(world: InstallWorld) -> None:
    world.install("claude")
    world.install("claude", in_project=True)
    world.uninstall()
    assert world.project.joinpath(".mcp.json").exists()
    assert not world.config("claude").exists()
    world.uninstall(in_project=True)
    assert world.files() == {}
