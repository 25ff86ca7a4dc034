"""A chat model that runs in this process: loaded in the background, then asked like any other."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import httpx

from kernel.domain.cancel import CancelToken
from kernel.domain.chat import ChatEvent, ChatRequest
from kernel.domain.settings import Performance
from kernel.errors import Cancelled, InvalidModel, NetworkError
from kernel.llm.client import TIMEOUTS, make_client
from kernel.llm.connections import Connections
from kernel.llm.endpoint import CHAT_PATH, ChatEndpoint
from kernel.llm.exchange import POLL_SECONDS
from kernel.llm.local_server import LARGEST_CONTEXT, MODEL_ALIAS, LocalServer
from kernel.llm.openai_dialect import OpenAiDialect
from kernel.llm.patience import Patience, socket_timeouts
from kernel.llm.remote_backend import RemoteBackend
from kernel.llm.token_counting import TokenCounter
from kernel.llm.traits import Traits

# Reading a long question on a few cores takes minutes before the first word.
_PATIENCE = Patience(first_piece_seconds=1800.0, between_pieces_seconds=300.0)


class LocalBackend:
    """A ``ChatBackend``; begins to load at once, and nobody waits for it who can leave."""

    def __init__(
        self, file: Path, *, name: str, performance: Performance, trained_context: int | None
    ) -> None:
        self._name = name
        self._context = min(trained_context or LARGEST_CONTEXT, LARGEST_CONTEXT)
        self._loaded: Future[_Loaded] = Future()
        self._traits = Traits(context_tokens=self._context)
        threading.Thread(
            target=self._load,
            args=(file, performance, self._loaded),
            name=f"load:{name}",
            daemon=True,
        ).start()

    @property
    def model_name(self) -> str:
        """The name that usage is recorded under."""
        return self._name

    @property
    def calls_tools(self) -> bool:
        """Whether tools may be given; turns false once the model's template has refused them."""
        return self._traits.calls_tools

    @property
    def context_tokens(self) -> int | None:
        """How much the model can read and write at once."""
        return self._context

    def stream(self, request: ChatRequest, cancel: CancelToken) -> Iterator[ChatEvent]:
        """Answer piece by piece, once the model is loaded."""
        while True:
            if cancel.cancelled:
                raise Cancelled(f"The question to {self._name} was stopped.")
            try:
                loaded = self._loaded.result(POLL_SECONDS)
            except TimeoutError:
                continue
            break
        yield from loaded.backend.stream(request, cancel)

    def count_tokens(self, text: str) -> int:
        """Tokens of a text, by the model's own tokenizer."""
        return self._loaded.result().backend.count_tokens(text)

    def close(self) -> None:
        """Let go of the model, as soon as it is loaded and has ended what it is doing."""
        self._loaded.add_done_callback(_let_go)
        self._loaded = Future()
        self._loaded.set_exception(InvalidModel(f"{self._name} has been closed."))

    def _load(self, file: Path, performance: Performance, loading: "Future[_Loaded]") -> None:
        try:
            server = LocalServer(file, performance, context_tokens=self._context)
            loading.set_result(_Loaded(server, self._name, self._traits))
        except InvalidModel as error:
            loading.set_exception(error)
        except BaseException:
            loading.set_exception(InvalidModel(f"{file} could not be loaded."))
            raise


class _Loaded:
    """The server, and the backend that asks it."""

    def __init__(self, server: LocalServer, name: str, traits: Traits) -> None:
        self.server: LocalServer | None = server
        self._client = make_client(TIMEOUTS, is_local=True)
        self._tokenize_url = f"{server.root}/tokenize"
        self._headers = {"Authorization": f"Bearer {server.key}"}
        self.backend = RemoteBackend(
            ChatEndpoint(f"{server.root}/v1{CHAT_PATH}", MODEL_ALIAS, server.key),
            dialect=OpenAiDialect(),
            traits=traits,
            counter=TokenCounter(self._tokens),
            connections=Connections(socket_timeouts(_PATIENCE), is_local=True),
            patience=_PATIENCE,
        )
        self.name = name

    def close(self) -> None:
        """Free connections and memory; waits for the piece of work that is being done."""
        self.backend.close()
        self._client.close()
        self.server = None

    def _tokens(self, text: str) -> int:
        try:
            answer = self._client.post(
                self._tokenize_url, json={"content": text}, headers=self._headers
            )
            tokens: Any = answer.raise_for_status().json()["tokens"]
        except (httpx.HTTPError, ValueError, KeyError):
            raise NetworkError(f"{self.name} could not count tokens: try again.") from None
        return len(tokens)


def _let_go(loading: "Future[_Loaded]") -> None:
    if loading.exception() is None:
        # In a thread, as it may have to wait for a batch.
        threading.Thread(target=loading.result().close, name="close local model").start()
