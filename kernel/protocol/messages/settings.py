"""Settings and hardware: the two-step change of settings.json, and what the machine can do."""

from msgspec import field

from kernel.domain.settings import ModelKind
from kernel.protocol.message import Data, Message
from kernel.protocol.settings_file import SettingsFile


class CheckSettings(Message, frozen=True, tag="checkSettings"):
    """Say whether settings-modified.json would be accepted."""


class SettingsReply(Data, frozen=True):
    """Sent only with warnings; an addition to the document, whose replies have no data."""

    warnings: list[str]


class UpdateSettings(Message, frozen=True, tag="updateSettings"):
    """Take settings.json as it is now, for every session."""


class GetSettings(Message, frozen=True, tag="getSettings"):
    """Ask for the settings in force; an addition to the document."""


class GetSettingsReply(Data, frozen=True):
    """The whole file, defaults filled in; ``trouble`` says why the one on the disk is not used.

    ``warnings`` is what a person should know of it all the same.
    """

    settings: SettingsFile
    trouble: str
    warnings: list[str]


class GetModels(Message, frozen=True, tag="getModels"):
    """List the models in the box and those of the settings; an addition to the document."""


class ModelEntry(Data, frozen=True):
    """A local model; ``fileSize`` is in MB, ``trouble`` a sentence if it cannot be used."""

    name: str
    type: ModelKind
    path: str
    file_size: float
    built_in: bool
    dimension: int | None
    description: str
    trouble: str


class GetModelsReply(Data, frozen=True):
    """Those of the settings first."""

    models: list[ModelEntry]


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
