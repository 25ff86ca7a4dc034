import json
from pathlib import Path

CONVERSATION = (
    Path(__file__).parents[2] / "userData.example" / "conversations" / "conversation-1.json"
)
YEAR_2001_IN_MS = 978_307_200_000


def test_the_example_conversation_has_the_documented_shape() -> None:
    conversation = json.loads(CONVERSATION.read_text(encoding="utf-8"))
    assert list(conversation) == ["conversationId", "topic", "history"]
    assert CONVERSATION.name == f"conversation-{conversation['conversationId']}.json"
    assert isinstance(conversation["topic"], str)
    for turn in conversation["history"]:
        assert list(turn) == ["query", "retrieval", "answer", "time"]
        assert isinstance(turn["query"], str)
        assert isinstance(turn["answer"], str)
        assert turn["time"] > YEAR_2001_IN_MS  # seconds would be far below
        for retrieval in turn["retrieval"]:
            assert list(retrieval) == ["annotation", "search", "result"]
            assert isinstance(retrieval["annotation"], str)
            assert all(isinstance(keyword, str) for keyword in retrieval["search"])
            for result in retrieval["result"]:
                kinds = {key: type(value) for key, value in result.items()}
                assert kinds == {
                    "content": str,
                    "metadata": str,
                    "beginLine": int,
                    "endLine": int,
                    "filePath": str,
                    "score": float,
                }
                assert result["beginLine"] < result["endLine"]
                assert not result["filePath"].startswith("/")
