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
    UpdateSettings,
)


@main_router.handles(CheckSettings, lane=Lane.SETTINGS)
def check_settings(message: CheckSettings, house: House) -> None:
    """Try settings-modified.json without taking it."""
    house.settings.check_modified()


@main_router.handles(UpdateSettings, lane=Lane.SETTINGS)
def update_settings(message: UpdateSettings, house: House) -> None:
    """Take settings.json, or keep what was if it is not valid."""
    house.settings.update()


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
