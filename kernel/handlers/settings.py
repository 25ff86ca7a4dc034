"""Settings and hardware."""

from kernel.dispatch.lanes import Lane
from kernel.domain.settings import ModelKind
from kernel.handlers.house import House
from kernel.handlers.routers import main_router
from kernel.protocol.messages.settings import (
    CheckSettings,
    GenerationModelEntry,
    GetAvailableHardware,
    GetAvailableHardwareReply,
    GetGenerationModels,
    GetGenerationModelsReply,
    GetModels,
    GetModelsReply,
    GetSettings,
    GetSettingsReply,
    ModelEntry,
    SettingsReply,
    UpdateSettings,
)
from kernel.settings.conversion import file_of


@main_router.handles(CheckSettings, lane=Lane.SETTINGS)
def check_settings(message: CheckSettings, house: House) -> SettingsReply | None:
    """Try settings-modified.json without taking it."""
    return _with_warnings(house.settings.check_modified())


@main_router.handles(UpdateSettings, lane=Lane.SETTINGS)
def update_settings(message: UpdateSettings, house: House) -> SettingsReply | None:
    """Take settings.json, or keep what was if it is not valid."""
    return _with_warnings(house.settings.update())


@main_router.handles(GetSettings, lane=Lane.SETTINGS)
def get_settings(message: GetSettings, house: House) -> GetSettingsReply:
    """Show the settings in force; no key is among them."""
    live = house.settings
    return GetSettingsReply(
        settings=file_of(live.current), trouble=live.trouble, warnings=live.warnings()
    )


@main_router.handles(GetModels, lane=Lane.OWN)
def get_models(message: GetModels, house: House) -> GetModelsReply:
    """Look at each local model; a folder may lie on a disk that takes its time."""
    from kernel.settings.inventory import inventory  # noqa: PLC0415 - the start need not wait for it

    return GetModelsReply(
        models=[
            ModelEntry(
                name=known.model.name,
                type=known.model.kind,
                path=str(known.model.path),
                file_size=known.megabytes,
                built_in=known.built_in,
                dimension=known.dimension,
                description=known.description,
                trouble=known.trouble,
            )
            for known in inventory(house.settings.current.local_models)
        ]
    )


@main_router.handles(GetAvailableHardware, lane=Lane.SETTINGS)
def get_available_hardware(
    message: GetAvailableHardware,
    house: House,
) -> GetAvailableHardwareReply:
    """Try each accelerator."""
    hardware = house.hardware()
    return GetAvailableHardwareReply(cuda_available=hardware.cuda, coreml_available=hardware.coreml)


@main_router.handles(GetGenerationModels, lane=Lane.SETTINGS)
def get_generation_models(
    message: GetGenerationModels,
    house: House,
) -> GetGenerationModelsReply:
    """List the chat models that can be asked."""
    settings = house.settings.current
    names = [model.name for model in settings.generation_models]
    names += [
        model.name
        for model in settings.local_models
        if model.kind is ModelKind.GENERATION and model.name not in names
    ]
    return GetGenerationModelsReply(model_list=[GenerationModelEntry(name=name) for name in names])


def _with_warnings(warnings: list[str]) -> SettingsReply | None:
    return SettingsReply(warnings=warnings) if warnings else None
