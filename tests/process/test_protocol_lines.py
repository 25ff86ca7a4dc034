"""Lines of the protocol over a real kernel process: order, echo, limits, malformed input."""

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support.kernel_process import (
    SERVE,
    TIMEOUT_SECONDS,
    KernelProcess,
    Line,
    bare_environment,
    code_of,
    reason_of,
)


def line(**changes: object) -> dict[str, object]:
    return {
        "sessionId": -1,
        "toMain": True,
        "callbackId": 42,
        "isReply": False,
        "message": {"type": "getRepos"},
        **changes,
    }


FRAME = b'{"sessionId":-1,"toMain":true,"callbackId":42,"isReply":false,'


def test_the_first_line_is_ready(kernel: KernelProcess) -> None:
    assert kernel.lines[0] == {
        "sessionId": -1,
        "toMain": True,
        "callbackId": 1,
        "isReply": False,
        "message": {"type": "ready"},
    }


def test_a_kernel_spawned_without_arguments_serves_as_the_existing_front_end_expects(
    user_data: Path,
) -> None:
    with KernelProcess(user_data, command=[sys.executable, "-m", "codekernel"]) as kernel:
        kernel.event("ready")
        assert code_of(kernel.request("getRepos")) == "SUCCESS"
        assert kernel.stop() == 0


def test_a_reply_repeats_the_whole_message_with_keys_the_kernel_does_not_know(
    shared_kernel: KernelProcess,
) -> None:
    extra: Line = {"windowId": 9, "deep": {"list": [1, 2.5, None, "x"]}, "big": 2**70}
    reply = shared_kernel.request("getRepos", sessionId=7, **extra)
    assert reply["message"] == {"type": "getRepos", "sessionId": 7, **extra}
    assert reply["isReply"] is True
    assert (reply["sessionId"], reply["toMain"]) == (-1, True)


def test_everything_written_is_ascii(shared_kernel: KernelProcess) -> None:
    reply = shared_kernel.request("getRepos", note="路由 🙂 é")
    assert reply["message"]["note"] == "路由 🙂 é"
    assert all(raw.isascii() for raw in shared_kernel.raw)


def test_callback_id_zero_is_answered(shared_kernel: KernelProcess) -> None:
    since = len(shared_kernel.lines)
    shared_kernel.post("getRepos", callback=0)
    assert code_of(shared_kernel.reply_to(0, since)) == "SUCCESS"


def test_a_request_nobody_waits_for_is_done_but_not_answered(
    cleared_kernel: KernelProcess, repo: Path
) -> None:
    cleared_kernel.post("createRepo", callback=-1, repoName=repo.name, path=str(repo))
    reply = cleared_kernel.request("getRepos")
    assert reply["data"]["repoList"] == [{"name": repo.name, "path": str(repo)}]
    assert [seen["callbackId"] for seen in cleared_kernel.lines if seen["isReply"]] == [
        reply["callbackId"]
    ]


@pytest.mark.parametrize("session", [-1, 77])
@pytest.mark.parametrize("callback", [1, 123456])
@pytest.mark.parametrize("message", [{"type": "ready"}, {"type": "nonsense"}])
def test_a_reply_is_never_answered(
    shared_kernel: KernelProcess, session: int, callback: int, message: dict[str, str]
) -> None:
    status = {"code": "SUCCESS", "message": ""}
    since = len(shared_kernel.lines)
    shared_kernel.send(
        line(
            sessionId=session,
            toMain=session == -1,
            callbackId=callback,
            isReply=True,
            message=message,
            status=status,
        )
    )
    shared_kernel.request("getRepos")
    assert len(shared_kernel.lines) == since + 1


@pytest.mark.parametrize(
    ("content", "callback"),
    [
        (b"garbage", -1),
        (b"{}", -1),
        (b"[1,2]", -1),
        (b"null", -1),
        (b'"text"', -1),
        (FRAME + b'"message":{"ty', 42),
        (json.dumps(line(message=None)).encode(), 42),
        (json.dumps(line(message={})).encode(), 42),
        (json.dumps(line(message={"type": 5})).encode(), 42),
        (json.dumps(line(toMain="yes")).encode(), 42),
        (json.dumps(line(sessionId="x")).encode(), 42),
        (json.dumps(line(isReply=0)).encode(), 42),
        (json.dumps(line(callbackId="42")).encode(), -1),
        (json.dumps(line(callbackId=None)).encode(), -1),
        (FRAME + b'"message":"\xff\xfe"}', 42),
        (FRAME + b'"message":{"type":"\\ud800"}}', 42),
        (FRAME + b'"n":NaN,"message":{"type":"getRepos"}}', 42),
        (FRAME + b'"n":1e999,"message":5}', 42),
        (b"[" * 200_000, -1),
        (b'{"callbackId":42,"isReply":false,"message":' + b'{"a":' * 100_000, 42),
        (b"\x00\x01\x02", -1),
    ],
)  # fmt: skip
def test_a_malformed_line_is_answered_as_far_as_its_sender_can_be_made_out_and_survived(
    shared_kernel: KernelProcess, content: bytes, callback: int
) -> None:
    since = len(shared_kernel.lines)
    shared_kernel.write(content + b"\n")
    reply = shared_kernel.reply_to(callback, since)
    assert code_of(reply) == "WRONG_PARAM"
    assert isinstance(reply["message"]["type"], str)
    assert {"sessionId", "toMain"} <= reply.keys()
    assert code_of(shared_kernel.request("getRepos")) == "SUCCESS"


@pytest.mark.parametrize(
    "content",
    [
        b'{"sessionId":-1,"toMain":true,"callbackId":42,"isReply":true,"message":{"ty',
        b'{"sessionId":-1,"toMain":true,"callbackId":42,"isReply":true}',
        b'{"sessionId":-1,"toMain":true,"callbackId":-1,"isReply":false,"message":7}',
    ],
)
def test_a_malformed_line_nobody_waits_for_is_not_answered(
    shared_kernel: KernelProcess, content: bytes
) -> None:
    since = len(shared_kernel.lines)
    shared_kernel.write(content + b"\n")
    shared_kernel.request("getRepos")
    assert len(shared_kernel.lines) == since + 1


def test_a_request_may_arrive_in_pieces_that_split_its_characters(
    shared_kernel: KernelProcess,
) -> None:
    content = json.dumps(line(message={"type": "getRepos", "note": "路由"}), ensure_ascii=False)
    since = len(shared_kernel.lines)
    for byte in content.encode() + b"\r\n":
        shared_kernel.write(bytes([byte]))
    assert shared_kernel.reply_to(42, since)["message"]["note"] == "路由"


def test_blank_lines_are_nothing(shared_kernel: KernelProcess) -> None:
    since = len(shared_kernel.lines)
    shared_kernel.write(b"\n\r\n   \n")
    shared_kernel.request("getRepos")
    assert len(shared_kernel.lines) == since + 1


def test_a_last_request_without_a_newline_is_answered_before_the_exit(
    kernel: KernelProcess,
) -> None:
    kernel.write(json.dumps(line()).encode())
    kernel.end_input()
    assert code_of(kernel.reply_to(42)) == "SUCCESS"
    assert kernel.exit_code() == 0


def test_a_line_of_100_megabytes_is_refused_without_being_kept(
    shared_kernel: KernelProcess,
) -> None:
    shared_kernel.write(
        b'{"sessionId":-1,"toMain":true,"callbackId":42,"isReply":false,"message":{"t":"'
    )
    since = len(shared_kernel.lines)
    piece = b"x" * 1_000_000
    for _ in range(100):
        shared_kernel.write(piece)
    shared_kernel.write(b'"}}\n')
    reply = shared_kernel.reply_to(42, since)
    assert code_of(reply) == "WRONG_PARAM"
    assert "longer than" in reason_of(reply)
    assert code_of(shared_kernel.request("getRepos")) == "SUCCESS"


def test_an_unknown_type_is_named(cleared_kernel: KernelProcess, repo: Path) -> None:
    cleared_kernel.open(repo, session=7)
    for reply in (
        cleared_kernel.request("getrepos"),
        cleared_kernel.request("getRepos", session=7),
    ):
        assert code_of(reply) == "INVALID_TYPE"
        assert reply["message"]["type"] in reason_of(reply)
    assert code_of(cleared_kernel.request("x" * 1_000_000)) == "INVALID_TYPE"


def test_a_message_to_no_session_says_so(shared_kernel: KernelProcess) -> None:
    for session in (-1, 5, 0):
        since = len(shared_kernel.lines)
        shared_kernel.send(line(sessionId=session, toMain=False, message={"type": "search"}))
        reply = shared_kernel.reply_to(42, since)
        assert code_of(reply) == "SESSION_NOT_FOUND"
        assert "openRepo" in reason_of(reply)


def test_wrong_types_name_the_field(shared_kernel: KernelProcess) -> None:
    reply = shared_kernel.request("createRepo", repoName=5, path="/x")
    assert code_of(reply) == "WRONG_PARAM"
    assert "repoName" in reason_of(reply)
    assert "path" in reason_of(shared_kernel.request("createRepo", repoName="x"))


def test_the_end_of_stdin_is_a_clean_stop(kernel: KernelProcess) -> None:
    kernel.end_input()
    assert kernel.exit_code() == 0


def test_stop_all_is_confirmed_before_the_clean_exit(kernel: KernelProcess) -> None:
    callback_id = kernel.post("stopAll")
    assert kernel.exit_code() == 0
    assert kernel.reply_to(callback_id) == {
        "sessionId": -1,
        "toMain": True,
        "callbackId": callback_id,
        "isReply": True,
        "message": {"type": "stopAll"},
        "status": {"code": "SUCCESS", "message": ""},
    }


def test_requests_sent_before_stop_all_are_still_carried_out(
    kernel: KernelProcess, repo: Path
) -> None:
    create = kernel.post("createRepo", repoName=repo.name, path=str(repo))
    set_key = kernel.post("setApiKey", name="deepseek", apiKey="secret")
    assert kernel.stop() == 0
    assert code_of(kernel.reply_to(create)) == "SUCCESS"
    assert code_of(kernel.reply_to(set_key)) == "SUCCESS"


@pytest.mark.slow
def test_requests_after_stop_all_are_answered_or_never_read(kernel: KernelProcess) -> None:
    stop = json.dumps(line(callbackId=1, message={"type": "stopAll"}))
    late = json.dumps(line(callbackId=2))
    kernel.write(f"{stop}\n{late}\n".encode())
    assert kernel.exit_code() == 0
    assert code_of(kernel.reply_to(1)) == "SUCCESS"
    late_replies = [seen for seen in kernel.lines if seen["isReply"] and seen["callbackId"] == 2]
    assert [code_of(seen) for seen in late_replies] in ([], ["SUCCESS"], ["UNKNOW_ERROR"])


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such signal")
def test_a_termination_signal_is_a_clean_stop(kernel: KernelProcess) -> None:
    kernel.request("getRepos")
    kernel.process.send_signal(signal.SIGTERM)
    assert kernel.exit_code() == 0


def test_a_front_end_that_stops_reading_ends_the_kernel_with_an_error(user_data: Path) -> None:
    with subprocess.Popen(
        SERVE,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=bare_environment(user_data),
    ) as process:
        assert process.stdout
        assert process.stdin
        assert b"ready" in process.stdout.readline()
        process.stdout.close()
        process.stdin.write(json.dumps(line()).encode() + b"\n")
        process.stdin.flush()
        assert process.wait(TIMEOUT_SECONDS) == 1


@pytest.mark.slow
def test_a_stop_is_not_kept_waiting_by_hundreds_of_requests(kernel: KernelProcess) -> None:
    for _ in range(300):
        kernel.post("getRepos")
    callback_id = kernel.post("stopAll")
    assert kernel.exit_code() == 0
    replies = [seen["callbackId"] for seen in kernel.lines if seen["isReply"]]
    assert len(replies) == 301
    assert callback_id in replies
