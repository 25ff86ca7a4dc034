"""A .gguf chat model in this process by xllamacpp (llama.cpp with its HTTP server).

Loaded in the background, then called like a remote endpoint. The server listens on loopback, so
it gets a random key.
"""

import importlib
import importlib.util
import secrets
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx

from codekernel.domain.chat import ChatBackend, ChatEvent, ChatRequest
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.settings import Performance
from codekernel.errors import Cancelled, InvalidModel, NetworkError
from codekernel.llm.http_client import (
    CHAT_PATH,
    DEFAULT_TIMEOUTS,
    HttpConnectionPool,
    make_http_client,
)
from codekernel.llm.http_request import (
    CANCEL_POLL_INTERVAL_SECONDS,
    ChatEndpoint,
    ChatTimeouts,
    make_socket_timeouts,
)
from codekernel.llm.providers.base import EndpointCapabilities
from codekernel.llm.providers.gguf import find_gguf, read_context_length
from codekernel.llm.providers.openai import OpenAiDecoder, build_openai_payload
from codekernel.llm.remote_backend import CachedTokenCounter, RemoteBackend

LLAMA_CPP_PACKAGE = "xllamacpp"

MODEL_ALIAS = "local"

# The limit of a larger context: its memory is allocated when the model is loaded, used or not.
MAX_CONTEXT_TOKENS = 16384

# Conversations that one loaded model answers at the same time; they share the context.
MAX_PARALLEL_ANSWERS = 4

# Tokens read between two checks for a cancel. Measured on one core: 128 is as fast as 512, and a
# stop during a long question frees the core in 3 s instead of 10.
BATCH_SIZE = 128

GPU_BATCH_SIZE = 512

_ALL_LAYERS = -1

_QUIET_VERBOSITY = -1


def open_local_backend(path: Path, performance: Performance, *, name: str = "") -> ChatBackend:
    """Open a .gguf file, or the folder of one; it is loaded in the background.

    Raises InvalidModel if there is none, or if the package that runs it is not installed.
    """
    file = find_gguf(path)
    context = read_context_length(file)
    if importlib.util.find_spec(LLAMA_CPP_PACKAGE) is None:
        raise InvalidModel(
            "Chat models on this machine need the package xllamacpp: "
            'install it with pip install "codekernel[local]".'
        )
    return LlamaCppBackend(
        file, name=name or file.stem, performance=performance, context_length=context
    )


# Reading a long question on a few cores takes minutes before the first word.
_LOCAL_TIMEOUTS = ChatTimeouts(first_token_timeout_seconds=1800.0, idle_timeout_seconds=300.0)


class LlamaCppBackend:
    """A ``ChatBackend``; starts to load at once, and a wait for it can be cancelled."""

    def __init__(
        self, file: Path, *, name: str, performance: Performance, context_length: int | None
    ) -> None:
        self.model_name = name
        self.context_tokens = min(context_length or MAX_CONTEXT_TOKENS, MAX_CONTEXT_TOKENS)
        self._loaded: Future[_LoadedModel] = Future()
        self._capabilities = EndpointCapabilities(context_tokens=self.context_tokens)
        threading.Thread(
            target=self._load,
            args=(file, performance, self._loaded),
            name=f"load:{name}",
            daemon=True,
        ).start()

    @property
    def supports_tools(self) -> bool:
        """Return whether tools may be given; false once the model's template has refused them."""
        return self._capabilities.supports_tools

    def stream(self, request: ChatRequest, cancel: CancelToken) -> Iterator[ChatEvent]:
        """Yield the reply, once the model is loaded."""
        while True:
            if cancel.is_cancelled:
                raise Cancelled(f"The question to {self.model_name} was stopped.")
            try:
                loaded = self._loaded.result(CANCEL_POLL_INTERVAL_SECONDS)
            except TimeoutError:
                continue
            break
        yield from loaded.backend.stream(request, cancel)

    def count_tokens(self, text: str) -> int:
        """Count the tokens of a text with the model's own tokenizer."""
        return self._loaded.result().backend.count_tokens(text)

    def close(self) -> None:
        """Unload the model, as soon as it is loaded and idle."""
        self._loaded.add_done_callback(_close_loaded)
        self._loaded = Future()
        self._loaded.set_exception(InvalidModel(f"{self.model_name} has been closed."))

    def _load(self, file: Path, performance: Performance, loading: "Future[_LoadedModel]") -> None:
        try:
            loading.set_result(_LoadedModel(file, performance, self.model_name, self._capabilities))
        except InvalidModel as error:
            loading.set_exception(error)
        except BaseException:
            loading.set_exception(InvalidModel(f"{file} could not be loaded."))
            raise


class _LoadedModel:
    """A model in its server, and the backend that calls it; loading and unloading take seconds."""

    def __init__(
        self, file: Path, performance: Performance, name: str, capabilities: EndpointCapabilities
    ) -> None:
        key = secrets.token_urlsafe(32)
        context_tokens = capabilities.context_tokens or MAX_CONTEXT_TOKENS
        self._server = _start_server(file, performance, context_tokens, key)
        url = str(self._server.listening_address)
        self._name = name
        self._client = make_http_client(DEFAULT_TIMEOUTS, is_local=True)
        self._tokenize_url = f"{url}/tokenize"
        self._headers = {"Authorization": f"Bearer {key}"}
        self._wait_until_served(f"{url}/metrics")
        self.backend = RemoteBackend(
            ChatEndpoint(f"{url}/v1{CHAT_PATH}", MODEL_ALIAS, key),
            build_openai_payload,
            OpenAiDecoder,
            capabilities,
            CachedTokenCounter(self._count_tokens),
            HttpConnectionPool(make_socket_timeouts(_LOCAL_TIMEOUTS), is_local=True),
            _LOCAL_TIMEOUTS,
        )

    def close(self) -> None:
        """Free connections and memory, after the running batch."""
        self.backend.close()
        self._client.close()
        self._server = None

    def _wait_until_served(self, metrics_url: str) -> None:
        """Wait for an answer that the server's queue gives.

        A server that is freed before its queue runs is never told to end; it is then waited for
        with the interpreter locked, and the whole process stands still.
        """
        with suppress(httpx.HTTPError):
            self._client.get(metrics_url, headers=self._headers)

    def _count_tokens(self, text: str) -> int:
        try:
            answer = self._client.post(
                self._tokenize_url, json={"content": text}, headers=self._headers
            )
            tokens: Any = answer.raise_for_status().json()["tokens"]
        except (httpx.HTTPError, ValueError, KeyError):
            raise NetworkError(f"{self._name} could not count tokens: try again.") from None
        return len(tokens)


def _start_server(file: Path, performance: Performance, context_tokens: int, api_key: str) -> Any:
    """Load a model into a server of this process. Raises InvalidModel."""
    library: Any = importlib.import_module(LLAMA_CPP_PACKAGE)
    parameters = library.CommonParams()
    parameters.model.path = str(file)
    parameters.model_alias = {MODEL_ALIAS}
    parameters.api_keys = [api_key]
    parameters.ui = False
    parameters.endpoint_slots = False
    parameters.endpoint_metrics = True  # asked for by _wait_until_served
    parameters.verbosity = _QUIET_VERBOSITY
    parameters.warmup = False
    parameters.n_ctx = context_tokens
    parameters.n_parallel = MAX_PARALLEL_ANSWERS
    parameters.kv_unified = True
    parameters.cache_ram_mib = 0  # it would keep up to 8 GB of old conversations
    on_gpu = performance.use_cuda or performance.use_coreml
    parameters.n_gpu_layers = _ALL_LAYERS if on_gpu else 0
    parameters.n_batch = parameters.n_ubatch = GPU_BATCH_SIZE if on_gpu else BATCH_SIZE
    if performance.max_threads:
        parameters.cpuparams.n_threads = performance.max_threads
        parameters.cpuparams_batch.n_threads = performance.max_threads
    try:
        return library.Server(parameters)
    except (RuntimeError, ValueError, OSError):
        raise InvalidModel(
            f"{file} could not be loaded: it is damaged, of a kind that this version does not "
            "know, or too large for the memory of this machine."
        ) from None


def _close_loaded(loading: "Future[_LoadedModel]") -> None:
    if loading.exception() is None:
        # In a thread, as it may have to wait for a batch.
        threading.Thread(target=loading.result().close, name="close local model").start()
