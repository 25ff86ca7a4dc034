"""Sessions, machines and files by the client contract, over a real engine."""

import base64
import threading
from typing import Any

from codekernel.adapters.hub.routes.sessions import MAX_SESSION_NAME_CHARS
from codekernel.domain.agent_sessions import PermissionMode
from support.hub_world import DeviceClient, HubWorld
from support.scripted_agent import KIND, WAIT_SECONDS, ScriptedTurn

SESSION_FIELDS = {
    "id", "namespace", "seq", "createdAt", "updatedAt", "active", "activeAt", "metadata",
    "metadataVersion", "agentState", "agentStateVersion", "thinking", "thinkingAt", "todos",
    "todosUpdatedAt", "model", "modelReasoningEffort", "effort", "serviceTier", "permissionMode",
}  # fmt: skip
SUMMARY_FIELDS = {
    "id", "active", "thinking", "activeAt", "updatedAt", "metadata", "metadataVersion",
    "agentStateVersion", "todosUpdatedAt", "todoProgress", "pendingRequestsCount",
    "pendingRequestKinds", "pendingRequests", "backgroundTaskCount", "model", "effort",
    "futureScheduledMessageCount", "nextScheduledAt",
}  # fmt: skip


def test_a_session_has_the_fields_of_the_contract(hub: HubWorld, phone: DeviceClient) -> None:
    record = hub.world.start(name="work")
    session = phone.get(f"/api/sessions/{record.id}")["session"]
    assert set(session) == SESSION_FIELDS
    assert session["metadata"]["path"] == str(hub.world.folder)
    assert session["metadata"]["host"]
    assert session["metadata"]["name"] == "work"
    assert session["metadata"]["flavor"] == KIND
    assert session["agentState"] == {
        "controlledByUser": False,
        "requests": {},
        "completedRequests": {},
    }
    assert (session["active"], session["thinking"], session["namespace"]) == (
        True,
        False,
        "default",
    )


def test_the_list_has_summaries_the_active_and_waiting_first(
    hub: HubWorld, phone: DeviceClient
) -> None:
    archived, idle, waiting = (hub.world.start(name=name) for name in "abc")
    hub.world.engine.update_session(archived.id, is_archived=True)
    hub.world.agent.turn = lambda turn: turn.ask()
    hub.world.send(waiting.id, "go")
    hub.world.wait_for_permission(waiting.id)
    sessions = phone.get("/api/sessions")["sessions"]
    assert [each["id"] for each in sessions] == [waiting.id, idle.id, archived.id]
    assert all(set(each) == SUMMARY_FIELDS for each in sessions)
    assert [each["active"] for each in sessions] == [True, True, False]
    assert sessions[0]["pendingRequestsCount"] == 1
    (request,) = sessions[0]["pendingRequests"]
    assert (request["kind"], request["tool"]) == ("permission", "run_command")
    assert len(phone.get("/api/sessions", limit=1)["sessions"]) == 1
    by_time = phone.get("/api/sessions", order="updatedAt")["sessions"]
    times = [each["updatedAt"] for each in by_time]
    assert times == sorted(times, reverse=True)
    assert phone.refuse("GET", "/api/sessions?limit=0") == (400, "invalid_request")


def test_unknown_sessions_are_not_found(phone: DeviceClient) -> None:
    expected = (404, "session_not_found")
    assert phone.refuse("GET", "/api/sessions/none") == expected
    assert phone.refuse("GET", "/api/sessions/none/messages") == expected
    assert phone.refuse("PATCH", "/api/sessions/none", {"name": "x"}) == expected
    assert phone.refuse("DELETE", "/api/sessions/none") == expected
    assert phone.refuse("POST", "/api/sessions/none/abort") == expected
    assert phone.refuse("GET", "/api/events?sessionId=none") == expected


def test_a_session_is_renamed(hub: HubWorld, phone: DeviceClient) -> None:
    record = hub.world.start()
    path = f"/api/sessions/{record.id}"
    assert phone.http.patch(path, json={"name": " new name "}).json() == {"ok": True}
    assert hub.world.engine.get_session(record.id).name == "new name"
    for name in ("", " ", "x" * (MAX_SESSION_NAME_CHARS + 1), 5, None):
        assert phone.refuse("PATCH", path, {"name": name}) == (400, "invalid_request")


def test_archive_resume_and_delete(hub: HubWorld, phone: DeviceClient) -> None:
    record = hub.world.start()
    path = f"/api/sessions/{record.id}"
    assert phone.refuse("DELETE", path) == (409, "session_active")
    assert phone.post(f"{path}/archive") == {"ok": True}
    assert phone.post(f"{path}/archive") == {"ok": True, "alreadyArchived": True}
    inactive = (409, "session_inactive")
    assert phone.refuse("POST", f"{path}/messages", {"text": "x"}) == inactive
    assert phone.refuse("POST", f"{path}/abort", {}) == inactive
    assert phone.refuse("POST", f"{path}/permissions/p/approve", {}) == inactive
    assert phone.refuse("POST", f"{path}/model", {"model": "x"}) == inactive
    assert phone.post(f"{path}/resume") == {"type": "success", "sessionId": record.id}
    assert phone.get(path)["session"]["active"]
    phone.post(f"{path}/archive")
    answer = phone.post(f"{path}/reopen")
    assert answer == {"ok": True, "sessionId": record.id, "resumed": True}
    phone.post(f"{path}/archive")
    assert phone.http.delete(path).json() == {"ok": True}
    assert phone.refuse("GET", path) == (404, "session_not_found")


def test_a_turn_is_stopped(hub: HubWorld, phone: DeviceClient) -> None:
    began = threading.Event()

    def turn(of: ScriptedTurn) -> None:
        began.set()
        assert of.cancelled.wait(WAIT_SECONDS)

    hub.world.agent.turn = turn
    record = hub.world.start()
    hub.world.send(record.id, "work")
    assert began.wait(WAIT_SECONDS)
    assert phone.get(f"/api/sessions/{record.id}")["session"]["thinking"]
    assert phone.post(f"/api/sessions/{record.id}/abort") == {"ok": True}
    hub.world.wait_until_idle(record.id)


def test_mode_and_model_are_set(hub: HubWorld, phone: DeviceClient) -> None:
    record = hub.world.start()
    path = f"/api/sessions/{record.id}"
    assert phone.post(f"{path}/permission-mode", {"mode": "yolo"}) == {"ok": True}
    assert phone.post(f"{path}/model", {"model": "large"}) == {"ok": True}
    changed = hub.world.engine.get_session(record.id)
    assert (changed.permission_mode, changed.model) == (PermissionMode.ALLOW_ALL, "large")
    phone.post(f"{path}/model", {"model": {"provider": "p", "modelId": "small"}})
    assert hub.world.engine.get_session(record.id).model == "small"
    phone.post(f"{path}/model", {"model": None})
    assert phone.get(path)["session"]["model"] is None
    wrong: list[Any] = ["plan", None, [], 1]
    for mode in wrong:
        assert phone.refuse("POST", f"{path}/permission-mode", {"mode": mode})[0] == 400


def test_machines_and_spawning(hub: HubWorld, phone: DeviceClient) -> None:
    (machine,) = phone.get("/api/machines")["machines"]
    assert machine["active"]
    assert machine["metadata"]["workspaceRoots"] == [str(hub.world.folder)]
    assert [each["name"] for each in machine["metadata"]["agents"]] == [KIND]
    path = f"/api/machines/{machine['id']}/spawn"
    body = {"directory": str(hub.world.folder), "agent": KIND, "yolo": True}
    answer = phone.post(path, body)
    assert answer["type"] == "success"
    record = hub.world.engine.get_session(answer["sessionId"])
    assert record.permission_mode is PermissionMode.ALLOW_ALL
    refused = phone.post(path, body | {"agent": "nobody"})
    assert (refused["type"], bool(refused["message"])) == ("error", True)
    elsewhere = phone.post("/api/machines/none/spawn", body)
    assert elsewhere["type"] == "error"
    assert phone.refuse("POST", path, {}) == (400, "invalid_request")
    paths = [str(hub.world.folder), "/etc"]
    exists = phone.post(f"/api/machines/{machine['id']}/paths/exists", {"paths": paths})
    assert exists == {"exists": {paths[0]: True, "/etc": False}}


def test_files_are_those_of_the_session_folder(hub: HubWorld, phone: DeviceClient) -> None:
    (hub.world.folder / "src").mkdir()
    (hub.world.folder / "src" / "a.py").write_text("x = 1\n")
    path = f"/api/sessions/{hub.world.start().id}"
    file = phone.get(f"{path}/file", path="src/a.py")
    assert (file["success"], base64.b64decode(file["content"]), file["size"]) == (
        True,
        b"x = 1\n",
        6,
    )
    assert phone.get(f"{path}/directory")["entries"][0]["type"] == "directory"
    (found,) = phone.get(f"{path}/files", query="a.py")["files"]
    assert (found["fileName"], found["filePath"], found["fullPath"]) == ("a.py", "src", "src/a.py")
    outside = phone.get(f"{path}/file", path="../secret")
    assert (outside["success"], "content" in outside) == (False, False)
    status = phone.get(f"{path}/git-status")
    assert set(status) >= {"success", "stdout", "stderr", "exitCode"}
    assert status["success"] is False
    assert phone.refuse("GET", f"{path}/file") == (400, "invalid_request")
    assert phone.refuse("GET", f"{path}/git-diff-file") == (400, "invalid_request")
