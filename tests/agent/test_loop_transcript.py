"""Secrets are masked as they come into a transcript, also where a long result is cut."""

import pytest
from codekernel.agent.transcript import Transcript
from codekernel.domain.chat import ChatToolCall

SECRET = "ghp_" + "a1B2c3D4e5F6" * 3
CALL = ChatToolCall("1", "read_file", "{}")


def test_a_secret_in_a_task_is_masked_and_counted() -> None:
    transcript = Transcript()
    transcript.add_user_message(f"Why does {SECRET} not work?")
    assert transcript.messages[0].content == "Why does [masked: GitHub token] not work?"
    assert transcript.secret_count == 1


@pytest.mark.parametrize("shift", range(0, len(SECRET), 7))
def test_half_a_key_at_a_cut_is_not_told(shift: int) -> None:
    longest = 3_000
    for place in (longest * 2 // 3 - shift, 20_000 - longest // 3 - shift):
        text = "word " * 4_000
        text = text[:place] + SECRET + text[place + len(SECRET) :]
        transcript = Transcript()
        transcript.add_tool_result(CALL, text, longest)
        told = transcript.messages[0].content
        assert not any(SECRET[at : at + 8] in told for at in range(len(SECRET) - 8))
        assert f"{len(text) - longest} characters left out" in told
