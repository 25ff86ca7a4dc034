"""A scripted chat server, and a window on a small repository that can ask it."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.chat_server import ChatServer
from support.conversation_client import (
    ConversationClient,
    chat_settings,
    conversation_kernel,
    write_sources,
)
from support.kode_service import KodeWorld, kode_world
from support.shared_kernel import SharedKernel


@pytest.fixture(scope="module")
def kode(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KodeWorld]:
    """A Kode service that the tests of a module share; each gives its model a script."""
    with kode_world(tmp_path_factory.mktemp("kode")) as running:
        yield running


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer() as running:
        yield running


@pytest.fixture
def asker(server: ChatServer, user_data: Path, repo: Path) -> Iterator[ConversationClient]:
    write_sources(repo)
    chat_settings(user_data, server.url, model={"inputPrice": 2.0, "outputPrice": 10.0})
    with conversation_kernel(user_data, repo) as asking:
        yield asking


@pytest.fixture
def asker_with_vectors(
    server: ChatServer, user_data: Path, repo: Path
) -> Iterator[ConversationClient]:
    write_sources(repo)
    chat_settings(user_data, server.url, vectors=True)
    with conversation_kernel(user_data, repo) as asking:
        yield asking


@pytest.fixture
def shared(user_data: Path, repo: Path) -> Iterator[SharedKernel]:
    """A kernel for several clients; its chat model does not answer."""
    write_sources(repo)
    chat_settings(user_data, "http://127.0.0.1:9/v1")
    with SharedKernel(user_data) as kernel:
        yield kernel
