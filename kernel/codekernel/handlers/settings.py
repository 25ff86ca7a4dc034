"""API keys, settings, the models they name, hardware.

Keys are stored on the settings lane, because checkSettings asks for the key just set.
"""

from codekernel.dispatch.routing import Lane
from codekernel.domain.settings import GenerationModel, ModelKind
from codekernel.handlers.context import Services, main_router
from codekernel.llm.presets import MODEL_PRESETS
from codekernel.protocol.envelope import convert_values
from codekernel.protocol.messages import settings as messages
from codekernel.settings.loading import convert_to_file
from codekernel.settings.local_models import inspect_local_models


@main_router.handles(messages.SetApiKey, lane=Lane.SETTINGS)
def set_api_key(message: messages.SetApiKey, services: Services) -> None:
    """Store a key in the vault."""
    services.keys.set(message.name, message.api_key)


@main_router.handles(messages.GetApiKey, lane=Lane.SETTINGS)
def get_api_key(message: messages.GetApiKey, services: Services) -> messages.GetApiKeyReply:
    """Return a key; no other reply contains one."""
    return messages.GetApiKeyReply(api_key=services.keys.get(message.name))


@main_router.handles(messages.GetModelPresets, lane=Lane.OWN_THREAD)
def get_model_presets(
    message: messages.GetModelPresets, services: Services
) -> messages.GetModelPresetsReply:
    """List the providers."""
    entries = convert_values(MODEL_PRESETS, list[messages.ModelPresetEntry])
    return messages.GetModelPresetsReply(presets=entries)


@main_router.handles(messages.OfferModel, lane=Lane.SETTINGS)
def offer_model(message: messages.OfferModel, services: Services) -> None:
    """Keep a chat model in memory."""
    model = GenerationModel(message.name, message.model_name, message.url, needs_key=False)
    services.offered_models.add(model, message.api_key)


@main_router.handles(messages.CheckSettings, lane=Lane.SETTINGS)
def check_settings(
    message: messages.CheckSettings, services: Services
) -> messages.SettingsReply | None:
    """Check settings-modified.json without using it."""
    return _build_settings_reply(services.settings.check_modified())


@main_router.handles(messages.UpdateSettings, lane=Lane.SETTINGS)
def update_settings(
    message: messages.UpdateSettings, services: Services
) -> messages.SettingsReply | None:
    """Put settings.json in force, if it is valid."""
    return _build_settings_reply(services.settings.update())


@main_router.handles(messages.GetSettings, lane=Lane.SETTINGS)
def get_settings(message: messages.GetSettings, services: Services) -> messages.GetSettingsReply:
    """Return the settings in force, without keys."""
    live = services.settings
    return messages.GetSettingsReply(
        settings=convert_to_file(live.current),
        trouble=live.load_error,
        warnings=live.list_warnings(),
    )


@main_router.handles(messages.GetModels, lane=Lane.OWN_THREAD)
def get_models(message: messages.GetModels, services: Services) -> messages.GetModelsReply:
    """Inspect each local model; the disk may be slow."""
    models = inspect_local_models(services.settings.current.local_models)
    return messages.GetModelsReply(models=convert_values(models, list[messages.ModelEntry]))


@main_router.handles(messages.GetAvailableHardware, lane=Lane.SETTINGS)
def get_available_hardware(
    message: messages.GetAvailableHardware, services: Services
) -> messages.GetAvailableHardwareReply:
    """Try each accelerator."""
    return convert_values(services.hardware(), messages.GetAvailableHardwareReply)


@main_router.handles(messages.GetGenerationModels, lane=Lane.SETTINGS)
def get_generation_models(
    message: messages.GetGenerationModels, services: Services
) -> messages.GetGenerationModelsReply:
    """List the chat models."""
    settings = services.offered_models.extend(services.settings.current)
    local = [model.name for model in settings.local_models if model.kind is ModelKind.GENERATION]
    entries = convert_values(settings.generation_models, list[messages.GenerationModelEntry])
    known = {entry.name: entry for entry in reversed(entries)}
    names = dict.fromkeys([*(entry.name for entry in entries), *local])
    return messages.GetGenerationModelsReply(
        model_list=[known.get(name) or messages.GenerationModelEntry(name=name) for name in names],
        history_length=settings.history_length,
        currency=settings.currency,
    )


def _build_settings_reply(warnings: list[str]) -> messages.SettingsReply | None:
    return messages.SettingsReply(warnings=warnings) if warnings else None
