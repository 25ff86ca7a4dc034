"""The chat model that the environment names: OPENAI_API_KEY, OPENAI_BASE_URL, OPENAI_MODEL.

It is offered to the kernel, which keeps it in memory; nothing of it reaches the disk.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from codekernel.domain.concurrency import CancelToken
from codekernel.errors import NetworkError
from codekernel.llm.presets import OPENAI_URL

# Asked where OPENAI_MODEL does not say which; small, and any account may use it.
DEFAULT_OPENAI_MODEL = "gpt-5-mini"

_MAX_SHOWN_MODELS = 5


@dataclass(frozen=True, slots=True)
class EnvironmentModel:
    """A chat model and its key. Never shown: it has the key."""

    model_name: str
    url: str
    api_key: str

    def __repr__(self) -> str:
        return f"EnvironmentModel({self.model_name!r})"

    @property
    def offer(self) -> dict[str, Any]:
        """The fields of ``offerModel``; it is called as its endpoint calls it."""
        fields = {"name": self.model_name, "modelName": self.model_name}
        return {**fields, "url": self.url, "apiKey": self.api_key}


def read_environment_model(
    environ: Mapping[str, str], list_names: Callable[[str, str], list[str]]
) -> EnvironmentModel | None:
    """Return the model of the environment, if it names one.

    ``list_names`` asks an endpoint, by url and key, for its models: one that has a single model
    needs no name. Raises NetworkError if there is a choice.
    """
    api_key = environ.get("OPENAI_API_KEY", "").strip()
    url = environ.get("OPENAI_BASE_URL", "").strip()
    if not api_key and not url:
        return None
    name = environ.get("OPENAI_MODEL", "").strip()
    if not name and url in {"", OPENAI_URL}:
        name = DEFAULT_OPENAI_MODEL
    if not name:
        found = list_names(url, api_key)
        if len(found) != 1:
            some = ", ".join(found[:_MAX_SHOWN_MODELS])
            known = f"; {url} has: {some}" if some else f", one of {url}"
            raise NetworkError(f"say which model in OPENAI_MODEL{known}")
        name = found[0]
    return EnvironmentModel(name, url or OPENAI_URL, api_key)


def list_endpoint_names(url: str, api_key: str) -> list[str]:
    """Ask an endpoint for its models. Raises TestFailed."""
    from codekernel.llm.model_list import list_models

    return [model.name for model in list_models(url, api_key, CancelToken())]
