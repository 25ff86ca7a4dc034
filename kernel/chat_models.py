"""How chat models are opened and tokens counted: for the kernel and for questions in a terminal."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

from kernel.conversation.models import Openers
from kernel.domain.chat import ChatBackend
from kernel.domain.settings import GenerationModel, Performance
from kernel.settings.box import TRANSFORMER, box_folder


def count_tokens(text: str) -> int:
    """Tokens of a text for a model that does not tell: those of the model in the box."""
    return _tokenizer()(text)


@cache
def _tokenizer() -> Callable[[str], int]:
    from kernel.inference.counting import TokenCounter  # noqa: PLC0415 - heavy, seldom needed

    return TokenCounter(box_folder() / TRANSFORMER)


def _open_remote(model: GenerationModel, api_key: str) -> ChatBackend:
    from kernel.llm.backends import open_backend  # noqa: PLC0415 - heavy, seldom needed

    return open_backend(model, api_key, count_tokens)


def _open_local(name: str, path: Path, performance: Performance) -> ChatBackend:
    from kernel.llm.backends import open_local  # noqa: PLC0415 - heavy, seldom needed

    return open_local(path, performance, name=name)


OPENERS = Openers(_open_remote, _open_local)
