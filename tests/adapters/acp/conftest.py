"""An ``AcpBackend`` with the scripted agent of this folder as its program."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from codekernel.adapters.acp.agent_process import AgentLimits
from codekernel.adapters.acp.backend import AcpBackend
from codekernel.adapters.acp.turn_changes import TurnRecorder
from codekernel.domain.settings import AgentCommand

SCRIPT = Path(__file__).parent / "scripted_agent.py"

OpenBackend = Callable[..., AcpBackend]


@pytest.fixture
def open_backend(user_data: Path) -> Iterator[OpenBackend]:
    """Makes backends with flags of the scripted agent, and ends them."""
    opened: list[AcpBackend] = []

    def open_one(*flags: str, command: str = sys.executable, **limits: Any) -> AcpBackend:
        agent = AgentCommand("scripted", command, (str(SCRIPT), *flags), {"SCRIPTED": "1"})
        opened.append(AcpBackend(agent, TurnRecorder(user_data), AgentLimits(**limits)))
        return opened[-1]

    yield open_one
    for backend in opened:
        backend.disconnect()
