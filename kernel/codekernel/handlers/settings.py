"""API keys, settings, models and hardware.

Keys are stored on the settings lane, because checkSettings asks for the key just set.
"""

from codekernel.dispatch.routing import Lane
from codekernel.domain.settings import ModelKind
from codekernel.errors import WrongParam
from codekernel.handlers.context import Services, main_router
from codekernel.protocol.messages.settings import (
    CheckSettings,
    GenerationModelEntry,
    GetApiKey,
    GetApiKeyReply,
    GetAvailableHardware,
    GetAvailableHardwareReply,
    GetGenerationModels,
    GetGenerationModelsReply,
    GetModels,
    GetModelsReply,
    GetSettings,
    GetSettingsReply,
    ModelEntry,
    SetApiKey,
    SettingsReply,
    TestApi,
    UpdateSettings,
)
from codekernel.settings.loading import convert_to_file


@main_router.handles(SetApiKey, lane=Lane.SETTINGS)
def set_api_key(message: SetApiKey, services: Services) -> None:
    """Store a key in the vault."""
    services.keys.set(message.name, message.api_key)


@main_router.handles(GetApiKey, lane=Lane.SETTINGS)
def get_api_key(message: GetApiKey, services: Services) -> GetApiKeyReply:
    """Return a key; no other reply contains one."""
    return GetApiKeyReply(api_key=services.keys.get(message.name))


@main_router.handles(TestApi, lane=Lane.OWN_THREAD)
def test_api(message: TestApi, services: Services) -> None:
    """Call the endpoint once with the given key."""
    from codekernel.llm.endpoint import probe_endpoint  # noqa: PLC0415 - heavy, seldom needed

    probe_endpoint(
        model_name=message.endpoint_model,
        url=message.url,
        api_key=message.key if message.key_name is None else _read_stored_key(message, services),
        cancel=services.stopping,
    )


def _read_stored_key(message: TestApi, services: Services) -> str:
    """Return the key under ``keyName``, only for the address it is already used at."""
    saved = {
        model.url
        for model in services.settings.current.generation_models
        if model.name == message.key_name
    }
    if message.url not in saved:
        raise WrongParam("The address is not the one that is saved; enter the key again to try it.")
    return services.keys.get(message.key_name or "")


@main_router.handles(CheckSettings, lane=Lane.SETTINGS)
def check_settings(message: CheckSettings, services: Services) -> SettingsReply | None:
    """Check settings-modified.json without using it."""
    return _build_settings_reply(services.settings.check_modified())


@main_router.handles(UpdateSettings, lane=Lane.SETTINGS)
def update_settings(message: UpdateSettings, services: Services) -> SettingsReply | None:
    """Put settings.json in force, if it is valid."""
    return _build_settings_reply(services.settings.update())


@main_router.handles(GetSettings, lane=Lane.SETTINGS)
def get_settings(message: GetSettings, services: Services) -> GetSettingsReply:
    """Return the settings in force, without keys."""
    live = services.settings
    return GetSettingsReply(
        settings=convert_to_file(live.current),
        trouble=live.load_error,
        warnings=live.list_warnings(),
    )


@main_router.handles(GetModels, lane=Lane.OWN_THREAD)
def get_models(message: GetModels, services: Services) -> GetModelsReply:
    """Inspect each local model; the disk may be slow."""
    from codekernel.settings.local_models import inspect_local_models  # noqa: PLC0415 - the start need not wait for it

    return GetModelsReply(
        models=[
            ModelEntry(
                name=known.model.name,
                type=known.model.kind,
                path=str(known.model.path),
                file_size=known.size_mb,
                built_in=known.is_built_in,
                dimension=known.dimension,
                description=known.description,
                trouble=known.error,
            )
            for known in inspect_local_models(services.settings.current.local_models)
        ]
    )


@main_router.handles(GetAvailableHardware, lane=Lane.SETTINGS)
def get_available_hardware(
    message: GetAvailableHardware,
    services: Services,
) -> GetAvailableHardwareReply:
    """Try each accelerator."""
    hardware = services.hardware()
    return GetAvailableHardwareReply(
        cuda_available=hardware.has_cuda, coreml_available=hardware.has_coreml
    )


@main_router.handles(GetGenerationModels, lane=Lane.SETTINGS)
def get_generation_models(
    message: GetGenerationModels,
    services: Services,
) -> GetGenerationModelsReply:
    """List the chat models."""
    settings = services.settings.current
    names = [model.name for model in settings.generation_models]
    names += [
        model.name
        for model in settings.local_models
        if model.kind is ModelKind.GENERATION and model.name not in names
    ]
    return GetGenerationModelsReply(model_list=[GenerationModelEntry(name=name) for name in names])


def _build_settings_reply(warnings: list[str]) -> SettingsReply | None:
    return SettingsReply(warnings=warnings) if warnings else None
