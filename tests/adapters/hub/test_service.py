"""The hub as a whole: chats inside it."""

import threading
from pathlib import Path

from codekernel.adapters.hub.service import HubSessions
from codekernel.errors import KernelError
from support.hub_world import open_hub, serve_hub
from support.scripted_agent import WAIT_SECONDS


class Chat:
    """A chat that notes what it is told."""

    def __init__(self, name: str, *, is_broken: bool = False) -> None:
        self.name = name
        self.is_broken = is_broken
        self.started, self.stopped = threading.Event(), threading.Event()
        self.machines: HubSessions | None = None

    def start(self, machines: HubSessions) -> None:
        if self.is_broken:
            raise KernelError("its token is wrong")
        self.machines = machines
        self.started.set()

    def stop(self) -> None:
        self.stopped.set()


def test_chats_are_started_with_the_sessions_and_stopped(user_data: Path) -> None:
    chat, broken = Chat("chat"), Chat("broken", is_broken=True)
    with open_hub(user_data, chats=(broken, chat)) as hub:
        assert chat.started.wait(WAIT_SECONDS)
        assert chat.machines is not None
        session = hub.world.start()
        assert chat.machines.get_session(session.id).id == session.id
        assert [each.host for each in chat.machines.list_machines()]
        assert hub.pair().get("/api/sessions")["sessions"]
        assert not chat.stopped.is_set()
    assert chat.stopped.is_set()
    assert not broken.stopped.is_set()


def test_a_hub_without_a_machine_answers(user_data: Path) -> None:
    with serve_hub(user_data) as service:
        assert service.machines.list_sessions() == []
        assert service.machines.list_machines() == []
