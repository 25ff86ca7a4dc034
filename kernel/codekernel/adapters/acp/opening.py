"""Opens the agents of the settings; the SDK is imported with the first of them."""

from collections.abc import Callable
from pathlib import Path

from codekernel.adapters.acp.turn_changes import TurnRecorder
from codekernel.domain.settings import AgentCommand
from codekernel.sync.agents import AgentBackend


def make_agent_opener(user_data: Path) -> Callable[[AgentCommand], AgentBackend]:
    """Return what makes the backend of an agent: ``register("opencode", lambda: opener(...))``."""
    recorder = TurnRecorder(user_data)

    def open_agent(command: AgentCommand) -> AgentBackend:
        from codekernel.adapters.acp.backend import AcpBackend  # noqa: PLC0415 - the SDK: 34 MB

        return AcpBackend(command, recorder)

    return open_agent
