"""The settings of a command: its chat model and the price of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from codekernel.cli.environment_model import (
    EnvironmentModel,
    list_endpoint_names,
    read_environment_model,
)
from codekernel.cli.output.terminal import print_notice
from codekernel.client.connection import KernelConnection
from codekernel.domain.settings import GenerationModel, Price, Settings
from codekernel.errors import ApiKeyNotFound
from codekernel.llm.model_pool import check_model
from codekernel.settings.live import OfferedModels
from codekernel.settings.loading import load_settings_file
from codekernel.settings.local_models import build_default_settings, choose_model
from codekernel.storage.user_data import UserData


def get_price(settings: Settings, model: str) -> Price | None:
    """Return the price of a model, if the settings have one."""
    named = (each for each in settings.generation_models if model in {each.name, each.model_name})
    return next(filter(None, (each.price for each in named)), None)


@dataclass(frozen=True, slots=True)
class ModelSelection:
    """A chat model that can be used, and the settings that have it."""

    name: str
    settings: Settings
    environment_model: EnvironmentModel | None

    def offer_to(self, kernel: KernelConnection) -> None:
        """Let the kernel have the model of the environment, if there is one."""
        if self.environment_model:
            kernel.request("offerModel", self.environment_model.offer)


def choose_usable_model(
    settings: Settings, name: str | None, user_data: UserData, environ: Mapping[str, str]
) -> ModelSelection:
    """Return the named chat model, else the first of the settings, else the environment's.

    Raises NetworkError, which says what to do, for a model that cannot be used.
    """

    def find_key(name: str) -> str:
        if user_data.database_file.exists():
            return ""  # the kernel sees whether it is there
        raise ApiKeyNotFound(f"there is no API key for {name!r}")

    offered = None
    if name or not settings.generation_models:  # else it is not asked, nor its endpoint
        offered = read_environment_model(environ, list_endpoint_names)
    models = OfferedModels()
    if offered:
        model = GenerationModel(
            offered.model_name, offered.model_name, offered.url, needs_key=False
        )
        models.add(model, offered.api_key)
    extended = models.extend(settings)
    chosen = choose_model(extended, name)
    check_model(extended, chosen, find_key)
    return ModelSelection(chosen, extended, offered)


def load_settings(file: Path) -> Settings:
    """Load the settings; print their warnings."""
    if not file.exists():
        return build_default_settings()
    settings, warnings = load_settings_file(file)
    for warning in warnings:
        print_notice(warning)
    return settings
