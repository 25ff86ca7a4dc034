"""Settings and hardware: the two-step change of settings.json, and what the machine can do."""

from msgspec import field

from kernel.protocol.message import Data, Message


class CheckSettings(Message, frozen=True, tag="checkSettings"):
    """Say whether settings-modified.json would be accepted."""


class UpdateSettings(Message, frozen=True, tag="updateSettings"):
    """Take settings.json as it is now, for every session."""


class GetAvailableHardware(Message, frozen=True, tag="getAvailableHardware"):
    """Ask which accelerators really work."""


class GetAvailableHardwareReply(Data, frozen=True):
    """True only if a trial session ran there; the names are spelt as the document spells them."""

    cuda_available: bool
    coreml_available: bool = field(name="coreMLAvailable")


class GetGenerationModels(Message, frozen=True, tag="getGenerationModels"):
    """List the chat models; undocumented, but known to the document's own kernel."""


class GenerationModelEntry(Data, frozen=True):
    """A chat model as a list shows it."""

    name: str


class GetGenerationModelsReply(Data, frozen=True):
    """Every chat model of the settings, in their order."""

    model_list: list[GenerationModelEntry]
