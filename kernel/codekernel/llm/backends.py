"""The backend of a model that was chosen: behind a url, or loaded from a .gguf file."""

from collections.abc import Callable

from codekernel.domain.chat import ChatBackend
from codekernel.llm.model_pool import ModelChoice
from codekernel.llm.providers.llama_cpp import open_local_backend
from codekernel.llm.remote_backend import open_remote_backend


def open_backend(choice: ModelChoice, count_tokens: Callable[[str], int]) -> ChatBackend:
    """Open a model. Raises WrongParam or InvalidModel if it cannot be used."""
    if choice.remote:
        return open_remote_backend(*choice.remote, count_tokens)
    if choice.local:
        return open_local_backend(*choice.local, name=choice.name)
    raise AssertionError("a model is remote or local")
