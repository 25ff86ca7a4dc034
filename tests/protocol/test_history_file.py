import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel.domain import turn_events as events
from kernel.domain.turn import Asking, Excerpt, Outcome, Retrieval, Turn
from kernel.protocol.history_file import History, UnreadableHistory
from kernel.protocol.journal_line import journal_line, read_journal_lines

ASKING = Asking(1, "why?", "model-1", 1_700_000_000_000, 3, "/repo")
FOUND = Excerpt("a/\udcff.py", 0, 2, "x\ny\n", "meta", 0.5, 7)
TURN = Turn(ASKING, (Retrieval("purpose", ("q",), (FOUND,)),), "answer", Outcome.DONE)


def test_a_turn_is_written_with_the_documents_keys() -> None:
    content = History.new(1, "why?", "/repo").append(TURN).content()
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
    history = History.read(History.new(1, "why?", "/repo").append(TURN).content(), 1)
    assert history.has(TURN)
    assert history.turns()[0].results == (FOUND,)
    assert history.repo_path == "/repo"


def test_an_empty_turn_has_all_the_documents_keys() -> None:
    content = History.new(1, "t", "").append(Turn(ASKING)).content()
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
    with pytest.raises(UnreadableHistory):
        History.read(content, 1)


def test_a_file_of_the_older_kernel_is_understood() -> None:
    turn = {"query": "q", "retrieval": [], "answer": "a", "time": 5}
    content = json.dumps({"conversationId": 9, "topic": "q", "history": [turn]}).encode()
    history = History.read(content, 2).append(TURN)
    document = json.loads(history.content())
    assert document["conversationId"] == 2
    assert document["history"][0] == turn


@given(st.text(), st.text())
def test_every_event_survives_the_journal(one: str, other: str) -> None:
    lived = [
        events.Begun(ASKING),
        events.Annotated(one),
        events.Searched(other),
        events.Retrieved(FOUND),
        events.RetrievalDone(),
        events.Sent(one),
        events.Received(other),
        events.AnswerPart(one),
        events.Counted(events.Spent(1, 2, exact=False)),
        events.Failed("NETWORK_ERROR", other),
        events.Done(Outcome.FAILED, masked=2),
    ]
    content = b"".join(map(journal_line, lived))
    assert read_journal_lines(content) == (lived, True)
    assert read_journal_lines(content[:-1]) == (lived[:-1], True)
