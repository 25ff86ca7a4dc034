"""Cases that `codekernel web` and the desktop app must answer alike; JavaScript runs them, too."""

import json
from pathlib import Path
from typing import Any

import pytest
from codekernel.adapters.web.host_calls import find_editor_command
from codekernel.adapters.web.kernel_client import CallFailed, KernelReply
from codekernel.adapters.web.outbox import ConversationStream, Outbox
from codekernel.adapters.web.sessions import RepoSession
from codekernel.client.settings_saver import SettingsSaver
from codekernel.storage.user_data import UserData

CASES = json.loads(
    (Path(__file__).parents[2] / "fixtures" / "web_hosts.json").read_text(encoding="utf-8")
)


@pytest.mark.parametrize("case", CASES["editors"]["cases"])
def test_the_same_editor_is_chosen(case: dict[str, Any]) -> None:
    found = find_editor_command(
        CASES["editors"]["file"],
        CASES["editors"]["line"],
        case["environ"],
        lambda program: f"/bin/{program}" if program in case["programs"] else None,
    )
    told = found and {
        "editor": found.editor,
        "program": found.program,
        "args": found.arguments,
    }
    assert told == case["expected"]


@pytest.mark.parametrize("case", CASES["parts"])
def test_parts_that_wait_are_joined_alike(case: dict[str, Any]) -> None:
    told: list[dict[str, Any]] = []
    stream = ConversationStream(1, told.append, lambda: None)
    for part in ({"type": "annotation", "content": "is being read"}, *case["waiting"]):
        stream.on_reply(KernelReply(None, part))
    for _ in case["expected"]:
        stream.on_part_read()
    assert [each["part"] for each in told[1:]] == case["expected"]


@pytest.mark.parametrize("case", CASES["statuses"])
def test_of_each_file_the_latest_status_is_sent(case: dict[str, Any]) -> None:
    outbox = Outbox()
    for message in case["messages"]:
        outbox.put_status(message)
    sent = json.loads(str(next(iter(outbox))))
    assert sent == {"event": {"type": "embeddingStatus", "items": case["expected"]}}


@pytest.mark.parametrize("case", CASES["restarts"])
def test_what_crashes_is_started_again_as_often(case: dict[str, Any]) -> None:
    session = RepoSession(1, "demo", Outbox())
    restarted = []
    for event in case["events"]:
        if event == "running":
            session.mark_prepared("/code")
        else:
            restarted.append(session.mark_crashed())
    assert restarted == case["again"]


@pytest.mark.parametrize("case", CASES["settings"])
def test_settings_are_written_with_the_same_bytes(case: dict[str, Any], user_data: Path) -> None:
    SettingsSaver(lambda _: None, CallFailed, UserData(user_data)).save(case["settings"])
    assert (user_data / "settings.json").read_text(encoding="utf-8") == case["text"]


class BusyFolderKernel:
    """Another program writes and removes the same file while this one saves."""

    def __init__(self, user_data: Path) -> None:
        self.file = user_data / "settings-modified.json"
        self.checked: list[str] = []
        self.others = ["write", "remove"]

    def request(self, message: str) -> None:
        if message != "checkSettings":
            return
        match self.others.pop(0) if self.others else "":
            case "write":
                self.file.write_text("{}", encoding="utf-8")
            case "remove":
                self.file.unlink()
        if not self.file.exists():
            raise CallFailed("INVALID_SETTINGS", "there is no settings-modified.json")
        self.checked.append(self.file.read_text(encoding="utf-8"))


def test_settings_of_another_program_that_saves_at_the_same_time_are_not_taken_for_these(
    user_data: Path,
) -> None:
    kernel = BusyFolderKernel(user_data)
    SettingsSaver(kernel.request, CallFailed, UserData(user_data)).save({"a": 1})
    ours = (user_data / "settings.json").read_text(encoding="utf-8")
    assert kernel.checked == ["{}", ours]
