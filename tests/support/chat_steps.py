"""The steps of an agent's messages, as a chat gets them."""

from collections.abc import Sequence

from codekernel.adapters.chat.turns import TurnStep, TurnWindow
from codekernel.domain.agent_sessions import Actor, AgentSessionRecord, SessionMessage
from codekernel.domain.chat import AgentMessage, TextContent


def build_steps(messages: Sequence[AgentMessage], *, is_finished: bool) -> tuple[TurnStep, ...]:
    """Return the steps of messages that are all of one turn."""
    asked = AgentMessage("user", (TextContent("go"),))
    window = TurnWindow("s", 0)
    window.put(
        SessionMessage(str(seq), "s", seq, seq, message, Actor("agent"), "", seq)
        for seq, message in enumerate([asked, *messages], start=1)
    )
    last_seq = len(messages) + 1
    record = AgentSessionRecord(
        "s", "codekernel", "m", "/repo", "", 0, 0, 1, 1, last_seq, is_thinking=not is_finished
    )
    (turn,) = window.list_turns(record)
    return turn.steps
