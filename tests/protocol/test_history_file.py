import json

import pytest
from codekernel.domain import turn_events as events
from codekernel.domain.turn import (
    Excerpt,
    RetrievalRound,
    TokenUsage,
    Turn,
    TurnOutcome,
    TurnRequest,
)
from codekernel.protocol.history_file import (
    ConversationHistory,
    UnreadableHistoryError,
    decode_journal_lines,
    encode_journal_line,
)
from hypothesis import given
from hypothesis import strategies as st

ASKING = TurnRequest(1, "why?", "model-1", 1_700_000_000_000, 3, "/repo")
FOUND = Excerpt("a/\udcff.py", 0, 2, "x\ny\n", "meta", 0.5, 7)
TURN = Turn(ASKING, (RetrievalRound("purpose", ("q",), (FOUND,)),), "answer", TurnOutcome.DONE)


def test_a_turn_is_written_with_the_documents_keys() -> None:
    content = ConversationHistory.create(1, "why?", "/repo").with_turn(TURN).to_bytes()
    document = json.loads(content)
    assert (document["conversationId"], document["topic"]) == (1, "why?")
    (turn,) = document["history"]
    assert turn["retrieval"] == [
        {
            "annotation": "purpose",
            "search": ["q"],
            "result": [
                {
                    "content": "x\ny\n",
                    "metadata": "meta",
                    "beginLine": 0,
                    "endLine": 2,
                    "filePath": "a/\udcff.py",
                    "score": 0.5,
                    "chunkId": 7,
                }
            ],
        }
    ]
    assert (turn["query"], turn["answer"], turn["time"]) == ("why?", "answer", ASKING.time_ms)


def test_what_was_written_is_read_again_odd_paths_included() -> None:
    history = ConversationHistory.from_bytes(
        ConversationHistory.create(1, "why?", "/repo").with_turn(TURN).to_bytes(), 1
    )
    assert history.has_turn(TURN)
    assert history.list_turns()[0].results == (FOUND,)
    assert history.repo_path == "/repo"


def test_an_empty_turn_has_all_the_documents_keys() -> None:
    content = ConversationHistory.create(1, "t", "").with_turn(Turn(ASKING)).to_bytes()
    turn = json.loads(content)["history"][0]
    assert {"query", "retrieval", "answer", "time"} <= turn.keys()


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'{"conversationId": 1}',
        b'{"conversationId": 1, "topic": 5, "history": []}',
        b'{"conversationId": 1, "topic": "", "history": [{"query": 1}]}',
        b"\xff\xfe\x00",
        b"[" * 100_000,
    ],
)
def test_what_is_no_history_is_refused(content: bytes) -> None:
    with pytest.raises(UnreadableHistoryError):
        ConversationHistory.from_bytes(content, 1)


def test_a_file_of_the_older_kernel_is_understood() -> None:
    turn = {"query": "q", "retrieval": [], "answer": "a", "time": 5}
    content = json.dumps({"conversationId": 9, "topic": "q", "history": [turn]}).encode()
    history = ConversationHistory.from_bytes(content, 2).with_turn(TURN)
    document = json.loads(history.to_bytes())
    assert document["conversationId"] == 2
    assert document["history"][0] == turn


@given(st.text(), st.text())
def test_every_event_survives_the_journal(one: str, other: str) -> None:
    lived: list[events.TurnEvent] = [
        events.TurnBegun(ASKING),
        events.RetrievalAnnotated(one),
        events.SearchIssued(other),
        events.ExcerptRetrieved(FOUND),
        events.RetrievalDone(),
        events.ModelRequestSent(one),
        events.ModelTextReceived(other),
        events.AnswerDelta(one),
        events.TokensCounted(TokenUsage(1, 2, exact=False)),
        events.TurnFailed("NETWORK_ERROR", other),
        events.TurnDone(TurnOutcome.FAILED, masked=2),
    ]
    content = b"".join(map(encode_journal_line, lived))
    assert decode_journal_lines(content) == (lived, True)
    assert decode_journal_lines(content[:-1]) == (lived[:-1], True)
