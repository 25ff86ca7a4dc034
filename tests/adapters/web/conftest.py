"""A ``codekernel web`` that is running, with a small repository and a scripted chat model."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from adapters.web.browsing import Browser, WebProcess
from support.chat_server import ChatServer
from support.conversation_client import chat_settings, write_sources


@pytest.fixture(scope="session")
def shared_web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[WebProcess, Browser]]:
    """One for tests that leave it as it was, and a browser that it has let in."""
    place = tmp_path_factory.mktemp("shared")
    for name in ("userData", "demo"):
        (place / name).mkdir()
    write_sources(place / "demo")
    chat_settings(place / "userData", "http://127.0.0.1:1/v1", vectors=True)
    with WebProcess(place / "userData", place / "demo", "--no-browser") as running:
        yield running, running.browser()


@pytest.fixture
def known(shared_web: tuple[WebProcess, Browser]) -> Browser:
    return shared_web[1]


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as running:
        yield running


@pytest.fixture
def web(server: ChatServer, user_data: Path, repo: Path) -> Iterator[WebProcess]:
    """Begins with the repository ``demo``."""
    write_sources(repo)
    chat_settings(user_data, server.url)
    with WebProcess(user_data, repo, "--no-browser") as running:
        yield running


@pytest.fixture
def browser(web: WebProcess) -> Browser:
    """The person's own, which has been let in."""
    return web.browser()
