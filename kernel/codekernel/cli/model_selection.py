"""The settings of a command: its chat model and the price of it."""

from pathlib import Path

from codekernel.cli.output.terminal import print_notice
from codekernel.domain.settings import Price, Settings
from codekernel.errors import ApiKeyNotFound
from codekernel.llm.model_pool import check_model
from codekernel.settings.loading import load_settings_file
from codekernel.settings.local_models import build_default_settings, choose_model
from codekernel.storage.user_data import UserData


def get_price(settings: Settings, model: str) -> Price | None:
    """Return the price of a model, if the settings have one."""
    named = (each for each in settings.generation_models if model in {each.name, each.model_name})
    return next(filter(None, (each.price for each in named)), None)


def choose_usable_model(settings: Settings, name: str | None, user_data: UserData) -> str:
    """Return the named chat model, else the first of the settings.

    Raises NetworkError, which says what to do, for a model that cannot be used.
    """

    def find_key(name: str) -> str:
        if user_data.database_file.exists():
            return ""  # the kernel sees whether it is there
        raise ApiKeyNotFound(f"there is no API key for {name!r}")

    model = choose_model(settings, name, user_data.settings_file)
    check_model(settings, model, find_key)
    return model


def load_settings(file: Path) -> Settings:
    """Load the settings; print their warnings."""
    if not file.exists():
        return build_default_settings()
    settings, warnings = load_settings_file(file)
    for warning in warnings:
        print_notice(warning)
    return settings
