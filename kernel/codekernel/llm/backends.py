"""Open a chat backend, behind a url or from a .gguf file."""

from collections.abc import Callable
from pathlib import Path

from codekernel.domain.chat import ChatBackend
from codekernel.domain.settings import GenerationModel, Performance
from codekernel.llm.endpoint import ChatEndpoint, resolve_chat_url, resolve_ollama_url
from codekernel.llm.http_client import HttpConnectionPool
from codekernel.llm.providers.base import ChatProvider, get_endpoint_capabilities
from codekernel.llm.providers.gguf import find_gguf, read_context_length
from codekernel.llm.providers.llama_cpp import LlamaCppBackend, require_llama_cpp
from codekernel.llm.providers.ollama import MAX_CONTEXT_SIZE, OllamaProvider
from codekernel.llm.providers.openai import OpenAiProvider
from codekernel.llm.remote_backend import CachedTokenCounter, RemoteBackend
from codekernel.llm.retry import ChatTimeouts, make_socket_timeouts


def open_remote_backend(
    model: GenerationModel,
    api_key: str,
    count_tokens: Callable[[str], int],
    timeouts: ChatTimeouts | None = None,
) -> ChatBackend:
    """Open the model behind a url; nothing is sent yet. Raises WrongParam for an impossible url.

    Keep it for the next question: its connections stay open.
    """
    timeouts = timeouts or ChatTimeouts()
    counter = CachedTokenCounter(count_tokens)
    ollama_url = resolve_ollama_url(model.url)
    endpoint = ChatEndpoint(ollama_url or resolve_chat_url(model.url), model.model_name, api_key)
    capabilities = get_endpoint_capabilities(endpoint.url, endpoint.model_name)
    provider: ChatProvider = OpenAiProvider()
    if ollama_url is not None:
        provider = OllamaProvider(counter.count_request)
        capabilities.context_tokens = capabilities.context_tokens or MAX_CONTEXT_SIZE
    connections = HttpConnectionPool(make_socket_timeouts(timeouts))
    connections.warm_up()
    return RemoteBackend(
        endpoint,
        provider=provider,
        capabilities=capabilities,
        counter=counter,
        connections=connections,
        timeouts=timeouts,
        masks_secrets=True,
    )


def open_local_backend(path: Path, performance: Performance, *, name: str = "") -> ChatBackend:
    """Open a .gguf file, or the folder of one; it is loaded in the background.

    Raises InvalidModel if there is none, or if the package that runs it is not installed.
    """
    file = find_gguf(path)
    context = read_context_length(file)
    require_llama_cpp()
    return LlamaCppBackend(
        file, name=name or file.stem, performance=performance, context_length=context
    )
