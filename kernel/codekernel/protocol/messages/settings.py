"""API keys, settings, local and chat models, and hardware.

Only GetApiKeyReply carries a key outwards.
"""

from msgspec import field

from codekernel.domain.settings import ModelKind
from codekernel.protocol.envelope import Message, ReplyData
from codekernel.protocol.settings_file import SettingsFile


class SetApiKey(Message, frozen=True, tag="setApiKey"):
    """Store the key of a generation model under the model's name; an empty key forgets it."""

    name: str
    api_key: str


class GetApiKey(Message, frozen=True, tag="getApiKey"):
    """Read a stored key."""

    name: str


class GetApiKeyReply(ReplyData, frozen=True):
    """The key."""

    api_key: str


class TestApi(Message, frozen=True, tag="testApi"):
    """Try a key, url and model name before they are saved; older clients say name and apiKey.

    ``keyName``, an addition: the key that is stored under this name, for pages that get no key.
    """

    __test__ = False  # not a test case, whatever pytest thinks of its name

    url: str
    model_name: str | None = None
    api: str | None = None
    name: str | None = None
    api_key: str | None = None
    key_name: str | None = None

    def __post_init__(self) -> None:
        if self.model_name is None and self.name is None:
            raise ValueError("Object missing required field `modelName`")
        if self.api is None and self.api_key is None and self.key_name is None:
            raise ValueError("Object missing required field `api`")

    @property
    def endpoint_model(self) -> str:
        """The model as the endpoint knows it, whichever field it came in."""
        return self.model_name or self.name or ""

    @property
    def key(self) -> str:
        """The key, whichever field it came in."""
        return self.api or self.api_key or ""


class GetModelPresets(Message, frozen=True, tag="getModelPresets"):
    """Ask for the providers that a chat model can be added from; an addition to the document."""


class ModelPresetEntry(ReplyData, frozen=True):
    """A provider, or a server on this machine; ``keyPage`` is empty if it needs no key."""

    name: str
    title: str
    url: str
    key_page: str
    is_local: bool = field(name="local")


class GetModelPresetsReply(ReplyData, frozen=True):
    """The presets, in the order to show them."""

    presets: list[ModelPresetEntry]


class ListEndpointModels(Message, frozen=True, tag="listEndpointModels"):
    """Ask an endpoint for its chat models; ``keyName`` as in testApi. An addition."""

    url: str
    api: str = ""
    key_name: str | None = None


class EndpointModelEntry(ReplyData, frozen=True):
    """A chat model of an endpoint; what it does not say is null. Prices: per million tokens."""

    name: str
    context_tokens: int | None
    input_price: float | None
    output_price: float | None


class ListEndpointModelsReply(ReplyData, frozen=True):
    """The chat models by name."""

    models: list[EndpointModelEntry]


class FindLocalServers(Message, frozen=True, tag="findLocalServers"):
    """Look for servers of models on this machine, at their usual ports; an addition."""


class LocalServerEntry(ReplyData, frozen=True):
    """A server that answered; ``preset`` is the name of its preset."""

    preset: str
    url: str
    models: list[EndpointModelEntry]


class FindLocalServersReply(ReplyData, frozen=True):
    """The servers that answered."""

    servers: list[LocalServerEntry]


class OfferModel(Message, frozen=True, tag="offerModel"):
    """Add a chat model beside those of the settings, in memory alone; an addition.

    A terminal offers the one of its environment (OPENAI_API_KEY).
    """

    name: str
    model_name: str
    url: str
    api_key: str = ""


class CheckSettings(Message, frozen=True, tag="checkSettings"):
    """Say whether settings-modified.json would be accepted."""


class SettingsReply(ReplyData, frozen=True):
    """Sent only with warnings; an addition to the document, whose replies have no data."""

    warnings: list[str]


class UpdateSettings(Message, frozen=True, tag="updateSettings"):
    """Take settings.json as it is now, for every session."""


class GetSettings(Message, frozen=True, tag="getSettings"):
    """Ask for the settings in force; an addition to the document."""


class GetSettingsReply(ReplyData, frozen=True):
    """The whole file, defaults filled in; ``trouble`` says why the one on the disk is not used.

    ``warnings`` is what a person should know of it all the same.
    """

    settings: SettingsFile
    trouble: str
    warnings: list[str]


class GetModels(Message, frozen=True, tag="getModels"):
    """List the models in the box and those of the settings; an addition to the document."""


class ModelEntry(ReplyData, frozen=True):
    """A local model; ``fileSize`` is in MB, ``trouble`` a sentence if it cannot be used."""

    name: str
    kind: ModelKind = field(name="type")
    path: str
    size_mb: float = field(name="fileSize")
    is_built_in: bool = field(name="builtIn")
    dimension: int | None
    description: str
    error: str = field(name="trouble")


class GetModelsReply(ReplyData, frozen=True):
    """Those of the settings first."""

    models: list[ModelEntry]


class GetAvailableHardware(Message, frozen=True, tag="getAvailableHardware"):
    """Ask which accelerators really work."""


class GetAvailableHardwareReply(ReplyData, frozen=True):
    """True only if a trial session ran there; the names are spelt as the document spells them."""

    has_cuda: bool = field(name="cudaAvailable")
    has_coreml: bool = field(name="coreMLAvailable")


class GetGenerationModels(Message, frozen=True, tag="getGenerationModels"):
    """List the chat models; undocumented, but known to the document's own kernel."""


class GenerationModelEntry(ReplyData, frozen=True, omit_defaults=True):
    """A chat model as a list shows it; but for the name, additions, if they are known."""

    name: str
    model_name: str = ""
    input_price: float | None = None
    output_price: float | None = None
    context_tokens: int | None = None


class GetGenerationModelsReply(ReplyData, frozen=True, omit_defaults=True):
    """Every chat model of the settings, in their order.

    ``historyLength`` is how many characters of the turns before are given to a model, 0 for all;
    ``currency`` is that of the prices.
    """

    model_list: list[GenerationModelEntry]
    history_length: int = -1
    currency: str = ""
