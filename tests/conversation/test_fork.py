"""A conversation that goes on from the first turns of another one."""

import pytest
from codekernel.protocol.history_file import ConversationHistory


def history(*queries: str) -> ConversationHistory:
    made = ConversationHistory.create(1, "topic", "/repo")
    turns = [
        {"query": query, "retrieval": [], "answer": f"about {query}", "time": number}
        for number, query in enumerate(queries)
    ]
    turns[0]["agent"] = {"session": "abc", "messages": [], "changes": [], "firstChange": 1}
    return made._with_turns(turns)


@pytest.mark.parametrize("count", [1, 2])
def test_a_fork_has_the_first_turns_and_its_own_id(count: int) -> None:
    original = history("one", "two", "three")
    forked = original.fork(9, count)
    assert forked.entries.conversation_id == 9
    assert [turn.query for turn in forked.entries.history] == ["one", "two", "three"][:count]
    assert forked.entries.repo_path == "/repo"
    assert len(original.entries.history) == 3


def test_what_an_agent_did_can_be_undone_by_the_original_alone() -> None:
    forked = history("one").fork(9, 1)
    assert forked.entries.history[0].agent is None
    assert forked.entries.history[0].answer == "about one"
