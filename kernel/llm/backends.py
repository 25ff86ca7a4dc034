"""Opens chat models: one behind a url, or one in a file of this machine."""

from collections.abc import Callable
from pathlib import Path

from kernel.domain.chat import ChatBackend
from kernel.domain.settings import GenerationModel, Performance
from kernel.llm.connections import Connections
from kernel.llm.dialect import Dialect
from kernel.llm.endpoint import ChatEndpoint, chat_url, ollama_url
from kernel.llm.gguf import find_gguf, trained_context
from kernel.llm.local_backend import LocalBackend
from kernel.llm.local_server import check_installed
from kernel.llm.masked_backend import MaskedBackend
from kernel.llm.ollama_dialect import LARGEST_WINDOW, OllamaDialect
from kernel.llm.openai_dialect import OpenAiDialect
from kernel.llm.patience import Patience, socket_timeouts
from kernel.llm.remote_backend import RemoteBackend
from kernel.llm.token_counting import TokenCounter
from kernel.llm.traits import KNOWN_ENDPOINTS


def open_backend(
    model: GenerationModel,
    api_key: str,
    count_tokens: Callable[[str], int],
    patience: Patience | None = None,
) -> ChatBackend:
    """Open the model behind a url; nothing is sent yet. Raises WrongParam for an impossible url.

    Worth keeping for the next question: its connections stay open.
    """
    patience = patience or Patience()
    counter = TokenCounter(count_tokens)
    own_api = ollama_url(model.url)
    endpoint = ChatEndpoint(own_api or chat_url(model.url), model.model_name, api_key)
    traits = KNOWN_ENDPOINTS.traits_of(endpoint.url, endpoint.model_name)
    dialect: Dialect = OpenAiDialect()
    if own_api is not None:
        dialect = OllamaDialect(counter.request)
        traits.context_tokens = traits.context_tokens or LARGEST_WINDOW
    connections = Connections(socket_timeouts(patience))
    connections.prepare()
    return MaskedBackend(
        RemoteBackend(
            endpoint,
            dialect=dialect,
            traits=traits,
            counter=counter,
            connections=connections,
            patience=patience,
        )
    )


def open_local(path: Path, performance: Performance, *, name: str = "") -> ChatBackend:
    """Open a .gguf file, or the folder of one; it is loaded in the background.

    Raises InvalidModel if there is none, or if the package that runs it is not installed.
    """
    file = find_gguf(path)
    context = trained_context(file)
    check_installed()
    return LocalBackend(
        file, name=name or file.stem, performance=performance, trained_context=context
    )
