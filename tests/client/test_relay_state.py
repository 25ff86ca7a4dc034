import json
from typing import Any

import pytest
from codekernel.client.mcp_relay_state import McpRelayState
from codekernel.client.relay_state import (
    ATTACH_ID,
    MAX_DEATHS,
    MAX_HEAD_BYTES,
    RelayState,
)


def request(kind: str, callback_id: int, session_id: int = -1, **fields: Any) -> bytes:
    envelope = {
        "sessionId": session_id,
        "toMain": session_id == -1,
        "callbackId": callback_id,
        "isReply": False,
        "message": {"type": kind, **fields},
    }
    return json.dumps(envelope).encode()


def reply(line: bytes, code: str = "SUCCESS", **data: Any) -> bytes:
    """As the kernel writes it: without spaces."""
    envelope = {**json.loads(line), "isReply": True, "status": {"code": code, "message": ""}}
    if data:
        envelope["data"] = data
    return json.dumps(envelope, separators=(",", ":")).encode()


def notification(kind: str, session_id: int, callback_id: int = 9, **fields: Any) -> bytes:
    line = json.loads(request(kind, callback_id, session_id, **fields))
    return json.dumps(line, separators=(",", ":")).encode()


NOTHING: tuple[tuple[bytes, ...], tuple[bytes, ...]] = ((), ())


def carry(
    state: RelayState, line: bytes
) -> tuple[bool, tuple[tuple[bytes, ...], tuple[bytes, ...]]]:
    """Whether a line of the kernel is forwarded, and what follows from it."""
    is_forwarded, is_read = state.classify_head(line[:MAX_HEAD_BYTES])
    added = state.note_line(line) if is_read else None
    state.note_end()
    return is_forwarded, (added.to_kernel, added.to_program) if added else NOTHING


def attach(state: RelayState) -> RelayState:
    """The kernel has answered ``attach``."""
    assert carry(state, reply(request("attach", ATTACH_ID), pid=1)) == (False, NOTHING)
    return state


def open_session(state: RelayState, session_id: int, callback_id: int) -> bytes:
    line = request("openRepo", callback_id, repoName="demo", sessionId=session_id)
    state.note_request(line)
    assert carry(state, reply(line, repoName="demo")) == (True, NOTHING)
    return line


def test_open_sessions_are_opened_again_and_nothing_of_it_is_forwarded() -> None:
    state = RelayState()
    line = open_session(state, 7, 1)
    ((again,), to_front_end) = state.restart()
    assert to_front_end == []
    sent = json.loads(again)
    assert {**sent, "callbackId": 1} == json.loads(line)
    assert sent["callbackId"] > 2**50
    assert carry(state, reply(again)) == (False, NOTHING)
    is_forwarded, ((answer,), _) = carry(state, notification("sessionPrepared", 7))
    assert not is_forwarded
    assert json.loads(answer)["status"]["code"] == "SUCCESS"
    # A session that the front end opens itself is announced as ever.
    assert carry(state, notification("sessionPrepared", 7)) == (True, NOTHING)
    assert len(state.restart()[0]) == 1


@pytest.mark.parametrize("ending", ["closeRepo", "sessionCrashed", "refused"])
def test_sessions_that_are_gone_are_not_opened_again(ending: str) -> None:
    state = RelayState()
    open_session(state, 7, 1)
    if ending == "closeRepo":
        line = request("closeRepo", 2, sessionId=7)
        state.note_request(line)
        carry(state, reply(line))
    elif ending == "sessionCrashed":
        assert carry(state, notification("sessionCrashed", 7))[0]
    else:
        ((again,), _) = state.restart()
        is_forwarded, (_, (told,)) = carry(state, reply(again, "REPO_NOT_EXIST"))
        assert not is_forwarded
        assert json.loads(told)["sessionId"] == 7
        assert json.loads(told)["message"]["type"] == "sessionCrashed"
    assert state.restart() == ([], [])


def test_waiting_requests_are_sent_again_and_answered_ones_are_not() -> None:
    state = RelayState()
    answered, waiting = request("getRepos", 1), request("search", 2, 7, query="x")
    for line in (answered, waiting, request("stopConversation", -1, 7)):
        state.note_request(line)
    assert carry(state, reply(answered)) == (True, NOTHING)
    assert state.restart() == ([waiting], [])
    assert state.restart() == ([waiting], [])


def test_a_reply_that_was_torn_is_asked_for_again() -> None:
    state = RelayState()
    line = request("search", 1, 7, query="x")
    state.note_request(line)
    assert state.classify_head(reply(line)[:MAX_HEAD_BYTES]) == (True, False)
    assert state.restart() == ([line], [])
    assert carry(state, reply(line)) == (True, NOTHING)
    assert state.restart() == ([], [])


def test_a_kernel_that_never_answered_attach_has_done_nothing() -> None:
    state = RelayState()
    line = request("createRepo", 1, repoName="a", path="/a")
    state.note_request(line)
    assert state.restart() == ([line], [])
    attach(state)
    to_kernel, to_front_end = state.restart()
    assert to_kernel == []
    assert json.loads(to_front_end[0])["status"]["code"] == "UNKNOW_ERROR"


@pytest.mark.parametrize("kind", ["beginConversation", "beginAgentTurn"])
def test_a_turn_that_was_not_accepted_is_asked_for_again(kind: str) -> None:
    state = attach(RelayState())
    line = request(kind, 1, 7, query="why?")
    state.note_request(line)
    assert state.restart() == ([line], [])
    carry(attach(state), reply(line))
    assert state.restart()[0] == []


def test_a_stream_is_ended_with_the_reason_and_done() -> None:
    state = attach(RelayState())
    line = request("beginConversation", 1, 7, query="why?")
    state.note_request(line)
    assert carry(state, reply(line)) == (True, NOTHING)
    assert carry(state, reply(line, type="answer", content="so")) == (True, NOTHING)
    to_kernel, (failure, done) = state.restart()
    assert to_kernel == []
    assert "ended unexpectedly" in json.loads(failure)["status"]["message"]
    assert json.loads(done)["data"]["type"] == "done"
    assert state.restart() == ([], [])


def test_a_stream_that_is_done_is_not_ended_again() -> None:
    state = RelayState()
    line = request("beginConversation", 1, 7, query="why?")
    state.note_request(line)
    carry(state, reply(line, type="done"))
    assert state.restart() == ([], [])


def test_what_may_have_been_done_already_is_refused() -> None:
    state = attach(RelayState())
    state.note_request(request("createRepo", 1, repoName="a", path="/a"))
    to_kernel, (failure,) = state.restart()
    assert to_kernel == []
    assert json.loads(failure)["status"]["code"] == "UNKNOW_ERROR"


def test_the_end_of_a_kernel_is_not_forwarded() -> None:
    state = RelayState()
    assert not carry(state, notification("kernelStopping", -1, reason="full"))[0]
    assert state.refusal == "full"
    assert not carry(state, notification("kernelServerCrashed", -1))[0]
    assert carry(state, notification("embeddingStatus", 7))[0]


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b'{"message": 1}', b'"x"', b'{"message": {}}'])
def test_lines_that_are_no_messages_are_left_to_the_kernel(line: bytes) -> None:
    state = RelayState()
    state.note_request(line)
    assert state.classify_head(line) == (True, False)
    assert state.restart() == ([], [])


def test_stop_all_is_noticed() -> None:
    state = RelayState()
    state.note_request(request("stopAll", 1))
    assert state.is_stopping


def test_who_watches_repositories_watches_those_of_the_next_kernel_and_looks_again() -> None:
    state = attach(RelayState())
    line = request("watchRepos", 4)
    state.note_request(line)
    assert carry(state, reply(line)) == (True, NOTHING)
    assert carry(state, notification("reposChanged", -1, -1)) == (True, NOTHING)
    ((again,), (changed,)) = state.restart()
    assert json.loads(again) == json.loads(request("watchRepos", -1))
    assert json.loads(changed) == json.loads(request("reposChanged", -1))


def test_requests_of_two_windows_or_types_may_have_the_same_callback_id() -> None:
    state = attach(RelayState())
    question = request("beginConversation", 5, 7, conversationId=1, query="why?")
    searches = [request("search", 5, session, query="x") for session in (7, 8)]
    for line in (question, *searches):
        state.note_request(line)
    assert carry(state, reply(question)) == (True, NOTHING)
    for line in searches:
        assert carry(state, reply(line, results=[])) == (True, NOTHING)
    (to_kernel, to_front_end) = state.restart()
    assert to_kernel == []
    refused, done = map(json.loads, to_front_end)
    assert (refused["sessionId"], refused["message"]["type"]) == (7, "beginConversation")
    assert done["data"]["type"] == "done"


def test_the_same_request_twice_waits_for_two_replies() -> None:
    state = attach(RelayState())
    line = request("getRepos", 0)
    state.note_request(line)
    state.note_request(line)
    assert carry(state, reply(line)) == (True, NOTHING)
    assert state.restart() == ([line], [])


@pytest.mark.parametrize("session_id", [None, "7", [7], {}])
def test_a_request_whose_session_is_no_number_is_the_kernels_to_refuse(session_id: Any) -> None:
    state = attach(RelayState())
    state.note_request(request("search", 5, session_id, query="x"))
    assert state.restart() == ([], [])


def types_of(lines: list[bytes]) -> list[str]:
    return [json.loads(line)["message"]["type"] for line in lines]


def test_after_a_retired_kernel_everything_without_a_reply_is_sent_to_the_newer_one() -> None:
    state = attach(RelayState())
    asked = [request("createRepo", 1), request("beginConversation", 2, 7, query="why?")]
    for line in asked:
        state.note_request(line)
    stopping = notification("kernelStopping", -1, reason="newer", retired=True)
    assert carry(state, stopping) == (False, NOTHING)
    assert state.restart() == (asked, [])
    assert state.refusal == ""


@pytest.mark.parametrize("way", ["kernelStopping", "attach"])
def test_a_refusal_to_attach_is_remembered(way: str) -> None:
    state = RelayState()
    if way == "attach":
        answer = json.loads(reply(request("attach", ATTACH_ID), "WRONG_PARAM"))
        answer["status"]["message"] = "too old"
        carry(state, json.dumps(answer, separators=(",", ":")).encode())
    else:
        carry(state, notification("kernelStopping", -1, reason="too old"))
    assert state.refusal == "too old"


def test_the_end_of_a_kernel_that_had_attached_is_no_refusal() -> None:
    state = attach(RelayState())
    carry(state, notification("kernelStopping", -1, reason="codekernel stop was called"))
    assert state.refusal == ""


def test_an_mcp_client_knows_a_refusal_from_a_retired_kernel() -> None:
    state = McpRelayState()
    for retired, refusal in ((True, ""), (False, "too old")):
        line = notification("kernelStopping", -1, reason="too old", retired=retired)
        assert state.classify_head(line[:MAX_HEAD_BYTES]) == (False, True)
        state.note_line(line)
        assert state.refusal == refusal


def test_a_request_that_kills_every_kernel_is_refused_and_others_go_on() -> None:
    state = RelayState()
    deadly = request("search", 1, 7, query="deadly")
    state.note_request(deadly)
    for number in range(1, MAX_DEATHS + 1):
        attach(state)
        harmless = request("getRepos", 10 + number)
        state.note_request(harmless)
        to_kernel, to_front_end = state.restart()
        is_last = number == MAX_DEATHS
        assert (deadly in to_kernel) is not is_last
        assert harmless in to_kernel
        assert types_of(to_front_end) == (["search"] if is_last else [])
        carry(state, reply(harmless))
    assert state.restart() == ([], [])


def test_a_session_that_kills_every_kernel_is_not_opened_again() -> None:
    state = attach(RelayState())
    open_session(state, 7, 1)
    open_session(state, 8, 2)
    for _ in range(MAX_DEATHS - 1):
        to_kernel, to_front_end = state.restart()
        assert (types_of(to_kernel), to_front_end) == (["openRepo"] * 2, [])
        attach(state)
        carry(state, notification("sessionPrepared", 8))
    to_kernel, (told,) = state.restart()
    assert [json.loads(line)["message"]["sessionId"] for line in to_kernel] == [8]
    crashed = json.loads(told)
    assert (crashed["sessionId"], crashed["message"]["type"]) == (7, "sessionCrashed")


def test_kernels_that_never_attached_are_not_held_against_a_request() -> None:
    state = RelayState()
    line = request("search", 1, 7, query="x")
    state.note_request(line)
    for _ in range(2 * MAX_DEATHS):
        assert state.restart() == ([line], [])


def test_a_session_id_that_is_closed_and_opened_at_once_is_announced() -> None:
    state = attach(RelayState())
    open_session(state, 7, 1)
    closing = request("closeRepo", 2, sessionId=7)
    opening = request("openRepo", 3, repoName="other", sessionId=7)
    state.note_request(closing)
    state.note_request(opening)
    (again, *rest), _ = state.restart()
    assert rest == [closing, opening]
    attach(state)
    carry(state, reply(again, repoName="demo"))
    # The session that was opened again is closed before it is prepared, and never announced.
    assert carry(state, reply(closing)) == (True, NOTHING)
    assert carry(state, reply(opening, repoName="other")) == (True, NOTHING)
    assert carry(state, notification("sessionPrepared", 7)) == (True, NOTHING)
    ((reopened,), _) = state.restart()
    assert json.loads(reopened)["message"]["repoName"] == "other"


def test_a_close_that_waits_while_the_kernel_dies_closes_the_session_in_the_next() -> None:
    state = attach(RelayState())
    open_session(state, 7, 1)
    closing = request("closeRepo", 2, windowId=7)
    state.note_request(closing)
    (again, last), _ = state.restart()
    assert last == closing
    carry(state, reply(again, repoName="demo"))
    assert carry(state, reply(closing)) == (True, NOTHING)
    assert state.restart() == ([], [])


def test_sessions_are_known_although_no_reply_was_wanted() -> None:
    state = attach(RelayState())
    line = request("openRepo", -1, repoName="demo", sessionId=7)
    state.note_request(line)
    assert state.restart() == ([line], [])
    attach(state)
    assert carry(state, notification("sessionPrepared", 7)) == (True, NOTHING)
    assert types_of(state.restart()[0]) == ["openRepo"]
    state.note_request(request("closeRepo", -1, sessionId=7))
    assert state.restart() == ([], [])


def test_the_sessions_of_a_deleted_repository_are_forgotten() -> None:
    state = attach(RelayState())
    open_session(state, 7, 1)
    line = request("deleteRepo", 2, repoName="demo")
    state.note_request(line)
    assert carry(state, reply(line)) == (True, NOTHING)
    assert state.restart() == ([], [])


def test_a_stop_of_a_conversation_is_not_repeated_when_its_answer_was_ended() -> None:
    state = attach(RelayState())
    asked = request("beginConversation", 1, 7, query="why?")
    stop = request("stopConversation", 2, 7, conversationId=1)
    state.note_request(asked)
    carry(state, reply(asked))
    state.note_request(stop)
    to_kernel, to_front_end = state.restart()
    assert types_of(to_front_end) == ["beginConversation", "beginConversation"]
    # The next kernel answers that nothing runs, which is what was wanted.
    assert to_kernel == [stop]


def test_answers_are_counted_whole() -> None:
    state = attach(RelayState())
    line = request("search", 1, 7, query="x")
    state.note_request(line)
    state.classify_head(reply(line)[:MAX_HEAD_BYTES])
    assert state.answered_count == 0
    state.note_end()
    assert state.answered_count == 1
    carry(state, notification("embeddingStatus", 7))
    assert state.answered_count == 1
