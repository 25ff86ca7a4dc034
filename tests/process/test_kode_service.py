"""The Kode service over real sockets: routes, keys, frames and their order, folders, sessions."""

import json
import os
import shutil
import socket
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.chat_server import Answer, Delay, WaitForEvent, delta, end_reply, reply_text
from support.command_line import CODEKERNEL, TIMEOUT_SECONDS
from support.conversation_client import chat_settings
from support.kode_service import (
    SECRET,
    SKIP,
    KodeWorld,
    answer_by_task,
    call_tools,
    kinds,
    kode_service,
    select,
    write,
)
from support.shared_kernel import ENVIRON


def test_health_needs_no_key_and_other_routes_are_not_found(kode: KodeWorld) -> None:
    healthy = kode.client.open("", method="GET", path="/health", key=None).response
    state = json.loads(healthy.read())
    assert (healthy.status, state["status"], state["service"]) == (200, "ok", "kode-agent-service")
    assert state["timestamp"] > 1e12
    for method, path in (("GET", "/api/chat/stream"), ("POST", "/health"), ("GET", "/")):
        missing = kode.client.open("", method=method, path=path).response
        assert (missing.status, missing.read()) == (404, b"Not found")


@pytest.mark.parametrize("key", [None, "", "wrong", SECRET[:-1], SECRET + "x", "ä"])
def test_a_missing_or_wrong_key_is_refused(kode: KodeWorld, key: str | None) -> None:
    assert kode.client.refuse({"message": "hi"}, key=key) == (401, "UNAUTHORIZED")


@pytest.mark.parametrize(
    "body",
    [
        "", "{", b"\xff\xfe", "[]", "{}", "[" * 100_000, '{"message":""}', '{"message":" "}',
        '{"message":3}', '{"message":"\\ud800"}', '{"message":"a","agentId":1}',
        '{"message":"a","context":{"workingDir":{}}}', '{"message":"a","context":{"files":[1]}}',
        '{"message":"a","outputsPath":"none","context":{"workingDir":"nothing"}}',
    ],
)  # fmt: skip
def test_a_body_that_cannot_be_understood_is_a_bad_request(kode: KodeWorld, body: str) -> None:
    assert kode.client.refuse(body) == (400, "BAD_REQUEST")


def test_a_body_that_is_too_large_is_refused_before_it_is_read(kode: KodeWorld) -> None:
    assert kode.client.refuse(b"x" * (5 * 1024 * 1024)) == (413, "PAYLOAD_TOO_LARGE")


def test_a_name_that_was_made_to_point_here_is_refused(kode: KodeWorld) -> None:
    asked = {"method": "GET", "path": "/health", "Host": "evil.example:80"}
    assert kode.client.open("", **asked).response.status == 403
    with kode_service(kode.shared.user_data, kode.first, words=("--anywhere",)) as client:
        assert client.open("", **asked).response.status == 200
        assert client.refuse({"message": "a"}, key="wrong") == (401, "UNAUTHORIZED")


def test_curl_gets_the_frames_in_their_order(kode: KodeWorld) -> None:
    kode.script(
        call_tools(SKIP, write("a.txt"), write("a.txt", "newer\n", 2), text="I write it."),
        reply_text("Written ", "twice."),
    )
    body = json.dumps({"message": "write it", "context": {"workingDir": str(kode.first)}})
    url = f"http://127.0.0.1:{kode.client.port}/api/chat/stream"
    curl = shutil.which("curl")
    assert curl
    done = subprocess.run(
        [curl, "-sSN", "-D", "-", url, "-H", f"X-API-Key: {SECRET}", "--data-binary", "@-"],
        input=body.encode(),
        capture_output=True,
        timeout=TIMEOUT_SECONDS,
        check=True,
    )
    head, _, content = done.stdout.partition(b"\r\n\r\n")
    assert b"Content-Type: text/event-stream; charset=utf-8\r\n" in head
    assert b"Cache-Control: no-cache, no-transform\r\n" in head
    events = content.decode("ascii").removesuffix("\n\n").split("\n\n")
    frames = [json.loads(event.removeprefix("data: ")) for event in events]
    frames = [frame for frame in frames if frame["type"] != "heartbeat"]
    assert kinds(frames) == [
        "start", "text", "tool_use", "tool_use", "tool_use", "backend_only", "tool_result",
        "backend_only", "tool_result", "backend_only", "tool_result", "text", "done",
    ]  # fmt: skip
    start, text, _, use = frames[:4]
    agent_id = start["agentId"]
    time_ms = start.pop("timestamp")
    assert time_ms > 1e12
    assert start == {"type": "start", "model": "model", "agentId": agent_id, "isNewSession": True}
    assert text["content"] == "I write it."
    del use["timestamp"]
    assert use == {
        "type": "tool_use",
        "tool": "Replace",
        "input": write("a.txt")[2],
        "id": "toolu_1",
    }
    only, result = frames[7:9]
    assert list(only) == ["type", "tool_name", "tool_use_id", "uuid", "data", "timestamp"]
    assert list(result) == ["type", "tool_use_id", "result", "timestamp"]
    assert only["data"]["type"] == "create"
    assert frames[9]["data"]["structuredPatch"][0]["lines"] == ["-new", "+newer"]
    assert frames[-2]["content"] == "Written twice."
    assert set(frames[-1]) == {"type", "metadata"}
    assert frames[-1]["metadata"]["agentId"] == agent_id
    assert (kode.first / "a.txt").read_text(encoding="utf-8") == "newer\n"


def test_a_client_in_javascript_reads_the_same(kode: KodeWorld) -> None:
    node = shutil.which("node")
    assert node
    kode.script(call_tools(SKIP, write("n.txt", "é漢😀\n")), reply_text("Fertig: é漢😀."))
    done = subprocess.run(
        [node, str(Path(__file__).parents[1] / "support" / "kode_client.mjs")],
        env={
            **os.environ,
            "KODE_URL": f"http://127.0.0.1:{kode.client.port}",
            "KODE_API_SECRET": SECRET,
            "KODE_BODY": json.dumps({"message": "schreib é漢😀", "outputsPath": str(kode.second)}),
        },
        capture_output=True,
        timeout=TIMEOUT_SECONDS,
        check=True,
    )
    frames = json.loads(done.stdout)
    assert (kinds(frames)[0], kinds(frames)[-1]) == ("start", "done")
    assert select(frames, "text")[-1]["content"] == "Fertig: é漢😀."
    assert (kode.second / "n.txt").read_text(encoding="utf-8") == "é漢😀\n"
    asked = kode.server.received[-1].json["messages"]
    assert "schreib é漢😀" in [each["content"] for each in asked if each["role"] == "user"]


def test_heartbeats_come_all_along(kode: KodeWorld) -> None:
    go_on = threading.Event()
    kode.script([delta("Slow"), WaitForEvent(go_on), *end_reply()])
    stream = kode.client.open({"message": "wait"})
    beats = [stream.read_until("heartbeat") for _ in range(2)]
    go_on.set()
    assert [(beat["message"], beat["count"]) for beat in beats] == [
        ("processing", 1), ("processing", 2),
    ]  # fmt: skip
    assert stream.read_until("text")["content"] == "Slow"
    assert stream.read_until("done")


def test_mode_ask_has_tools_that_read_and_no_others(kode: KodeWorld) -> None:
    kode.script(call_tools(SKIP, write("asked.txt")), reply_text("I may not."))
    frames = kode.client.ask("look", kode.first, mode="ask")
    offered = {each["function"]["name"] for each in kode.server.received[-1].json["tools"]}
    assert offered == {
        "plan", "search_context", "read_file", "list_directory", "search", "call_chain",
    }  # fmt: skip
    assert select(frames, "tool_result")[-1]["is_error"] is True
    assert not (kode.first / "asked.txt").exists()
    kode.script(reply_text("ok"))
    kode.client.ask("edit", kode.first, mode="anything")
    offered = {each["function"]["name"] for each in kode.server.received[-1].json["tools"]}
    assert {"Replace", "Edit", "MultiEdit", "NotebookEditCell", "run_command"} <= offered
    assert not {"create_file", "edit_file"} & offered


def test_the_context_is_told_to_the_model(kode: KodeWorld) -> None:
    kode.script(reply_text("ok"))
    context = {"userId": "ann", "files": ["a.csv", "b.csv"], "notebookPath": "work.ipynb"}
    frames = kode.client.ask("hello", None, context=context)
    assert kinds(frames) == ["start", "text", "done"]
    asked = kode.server.received[-1].json["messages"][-1]["content"]
    assert asked.startswith("hello\n")
    assert all(each in asked for each in ("ann", "a.csv, b.csv", "work.ipynb"))


def test_what_is_not_allowed_is_refused_with_the_reason(kode: KodeWorld) -> None:
    run = ("toolu_1", "run_command", {"command": "echo heard"})
    kode.script(call_tools(SKIP, run), reply_text("ok"))
    result = select(kode.client.ask("run it", kode.first), "tool_result")[-1]
    assert result["is_error"] is True
    assert "run_command is not allowed here: it runs" in result["result"]


def test_what_the_command_line_allows_is_done(kode: KodeWorld) -> None:
    run = ("toolu_1", "run_command", {"command": "echo heard"})
    kode.script(call_tools(SKIP, run), reply_text("ok"))
    words = ("--allow", "runs", "--allow", "deletes")
    with kode_service(kode.shared.user_data, kode.first, words=words) as client:
        result = select(client.ask("run it"), "tool_result")[-1]
    assert "heard" in result["result"]


def test_a_folder_outside_is_refused_also_by_a_link(kode: KodeWorld) -> None:
    (kode.first / "link").symlink_to(kode.outside)
    (kode.first / "inner").mkdir()
    (kode.first / "way").symlink_to(kode.first / "inner")
    for path in (kode.outside, kode.outside / "none", kode.first / "link", "../outside", "/"):
        body = {"message": "a", "context": {"workingDir": str(path)}}
        assert kode.client.refuse(body) == (403, "FORBIDDEN")
    kode.script(call_tools(SKIP, write("x.txt"), write("../../y.txt", number=2)), reply_text("k"))
    frames = kode.client.ask("in it", kode.first / "way")
    assert (kode.first / "inner" / "x.txt").exists()
    assert select(frames, "tool_result")[-1]["is_error"] is True
    assert not (kode.first.parent / "y.txt").exists()


def test_the_outputs_path_comes_first_if_it_exists(kode: KodeWorld) -> None:
    kode.script(call_tools(SKIP, write("where.txt")), reply_text("ok"))
    kode.client.ask("a", kode.second, outputsPath=str(kode.first / "none"))
    assert (kode.second / "where.txt").exists()
    kode.script(call_tools(SKIP, write("where.txt")), reply_text("ok"))
    kode.client.ask("a", kode.second, outputsPath=str(kode.first))
    assert (kode.first / "where.txt").exists()


def test_two_requests_at_once_do_not_disturb_each_other(kode: KodeWorld) -> None:
    both = threading.Barrier(2, timeout=TIMEOUT_SECONDS)

    def together(steps: Answer) -> Answer:
        both.wait()  # both turns are in the middle of their work now
        yield from steps

    def answers(name: str) -> list[Answer]:
        make = write("same.txt", f"{name}\n")
        read = ("toolu_2", "read_file", {"path": "same.txt"})
        return [together(call_tools(SKIP, make)), together(call_tools(read)), reply_text(name)]

    names = {"one": kode.first, "two": kode.second}
    kode.script(answer_by_task({name: answers(name) for name in names}))
    with ThreadPoolExecutor(2) as pool:
        asked = {name: pool.submit(kode.client.ask, name, folder) for name, folder in names.items()}
    for name, folder in names.items():
        frames = asked[name].result()
        assert select(frames, "tool_result")[-1]["result"] == f"{name}\n"
        assert select(frames, "text")[-1]["content"] == name
        assert (folder / "same.txt").read_text(encoding="utf-8") == f"{name}\n"
    ids = {frame["agentId"] for each in asked.values() for frame in select(each.result(), "start")}
    assert len(ids) == 2


def test_a_session_goes_on_in_its_own_folder_alone(kode: KodeWorld) -> None:
    kode.script(reply_text("It is 7."))
    agent_id = kode.client.ask("remember 7", kode.first)[0]["agentId"]
    start, *_, done = kode.client.ask("which?", kode.first, agentId=agent_id)
    assert (start["agentId"], start["isNewSession"]) == (agent_id, False)
    assert done["metadata"]["agentId"] == agent_id
    said = [each["content"] for each in kode.server.received[-1].json["messages"]]
    assert said[-3:] == ["remember 7", "It is 7.", "which?"]
    other = {"message": "a", "agentId": agent_id, "outputsPath": str(kode.second)}
    assert kode.client.refuse(other) == (400, "BAD_REQUEST")
    for unknown in ("ffffffff", "../../x", "no id"):
        start = kode.client.ask("new", kode.first, agentId=unknown)[0]
        assert start["isNewSession"] is True
        assert start["agentId"] not in {agent_id, unknown}


def test_a_model_that_fails_and_one_that_is_not_set_up_end_in_an_error(kode: KodeWorld) -> None:
    kode.script([Delay(0), delta("half"), *end_reply("length")])
    assert kinds(kode.client.ask("go", kode.first))[-1] == "done"
    with kode_service(kode.shared.user_data, kode.first, words=("--model", "nobody")) as client:
        start, error = client.ask("go")
    assert (start["type"], error["type"], error["error"]) == ("start", "error", "INTERNAL_ERROR")
    assert "nobody" in error["message"]


def test_without_a_secret_all_are_refused_and_the_vault_may_have_it(kode: KodeWorld) -> None:
    user_data = kode.shared.user_data
    with kode_service(user_data, kode.first, secret="") as client:
        for key in (None, "", "x"):
            assert client.refuse({"message": "a"}, key=key) == (401, "UNAUTHORIZED")
        assert client.open("", method="GET", path="/health").response.status == 200
    storing = subprocess.run(
        [*CODEKERNEL, "key", "set", "KODE_API_SECRET"],
        input=b"of-the-vault",
        env={**os.environ, **ENVIRON, "CODEKERNEL_USER_DATA": str(user_data)},
        capture_output=True,
        timeout=TIMEOUT_SECONDS,
        check=True,
    )
    assert storing.stderr == b""
    kode.script(reply_text("ok"))
    with kode_service(user_data, kode.first, secret="") as client:
        assert client.refuse({"message": "a"}) == (401, "UNAUTHORIZED")
        assert client.open({"message": "a"}, key="of-the-vault").response.status == 200


def test_the_port_is_of_the_option_of_the_environment_or_the_usual_one(
    user_data: Path, repo: Path
) -> None:
    def start(*words: str, port: str) -> tuple[str, str, int | None]:
        environ = {**os.environ, "CODEKERNEL_USER_DATA": str(user_data), "KODE_API_PORT": port}
        with subprocess.Popen(
            [*CODEKERNEL, "backend", "--http", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environ,
            cwd=repo,
        ) as process:
            assert process.stdout
            address = process.stdout.readline().strip()
            process.terminate()
            _, said = process.communicate(timeout=TIMEOUT_SECONDS)
            return address, said, process.returncode

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"port {port} cannot be used" in start(port=str(port))[1]
        address, said, code = start("0", port=str(port))
    assert address.startswith("http://127.0.0.1:")
    assert code == 0
    assert "all clients are refused" in said
    address, said, _ = start(port="")
    assert ":8787" in address or "port 8787 cannot be used" in said
    assert start(port="http")[1:] == ("codekernel: $KODE_API_PORT is no port: 'http'\n", 2)


def test_a_service_without_the_shared_kernel_serves_several_at_once(
    kode: KodeWorld, user_data: Path, repo: Path
) -> None:
    both = threading.Barrier(2, timeout=TIMEOUT_SECONDS)

    def together() -> Answer:
        both.wait()
        yield from reply_text("Both.")

    kode.script(lambda _: together())
    chat_settings(user_data, kode.server.url)
    with (
        kode_service(user_data, repo, words=("--standalone",)) as client,
        ThreadPoolExecutor(2) as pool,
    ):
        asked = list(pool.map(client.ask, ("one", "two")))
    assert [select(frames, "text")[0]["content"] for frames in asked] == ["Both.", "Both."]
