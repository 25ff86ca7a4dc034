"""settings.json: JSON with comments and trailing commas.

The declaration of every section, error messages that name line or key, and section-by-section
parsing with defaults for broken sections.
"""

import re
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from codekernel.domain.settings import (
    DEFAULT_HUB_PORT,
    DEFAULT_LARK_DOMAIN,
    DEFAULT_REMOTE_BATCH_SIZE,
    DEFAULT_REMOTE_CONCURRENCY,
    DEFAULT_TELEGRAM_API_BASE,
    ModelKind,
    Settings,
    SharingMode,
)
from codekernel.errors import InvalidSettings
from codekernel.protocol.settings_text import (
    TOO_DEEP,
    decode_text,
    describe_syntax_error,
    strip_comments,
)


class _Section(msgspec.Struct, frozen=True, rename="camel"):
    """An object of the file; field names are those of domain/settings.py."""


class EmbeddingConfigEntry(_Section, frozen=True):
    """An element of ``searchSettings.embeddingConfig.configs``."""

    name: str
    model_name: str
    max_chunk_chars: int = msgspec.field(name="inputLength")
    is_selected: bool = msgspec.field(name="selected", default=False)


class EmbeddingSection(_Section, frozen=True):
    """``searchSettings.embeddingConfig``; no configs mean the bundled ones."""

    configs: list[EmbeddingConfigEntry]


class RerankConfigEntry(_Section, frozen=True):
    """An element of ``searchSettings.rerankConfig.configs``."""

    model_name: str
    is_selected: bool = msgspec.field(name="selected", default=False)


class RerankSection(_Section, frozen=True):
    """``searchSettings.rerankConfig``."""

    configs: list[RerankConfigEntry]


class SearchSection(_Section, frozen=True):
    """``searchSettings``."""

    search_limit: int
    embedding_config: EmbeddingSection = EmbeddingSection(configs=[])
    rerank_config: RerankSection = RerankSection(configs=[])


class RemoteModelEntry(_Section, frozen=True, omit_defaults=True):
    """``endpoint`` of a local model, which is not in the front end's document: a server."""

    url: str
    model_name: str
    needs_key: bool = msgspec.field(name="setApiKey", default=False)
    # Per million tokens.
    input_price: float | None = None
    # What stands before each text; left out: what the model's family is known to need.
    query_prefix: str | None = None
    document_prefix: str | None = None
    # Texts in one request, and requests at once.
    batch_size: int = DEFAULT_REMOTE_BATCH_SIZE
    concurrency: int = DEFAULT_REMOTE_CONCURRENCY


class LocalModelEntry(_Section, frozen=True):
    """An element of ``localModelManagement.models``: a folder, or a server instead."""

    name: str
    path: str
    type: ModelKind
    # null is what JavaScript writes for a size it could not calculate
    file_size: float | None = None
    endpoint: RemoteModelEntry | UnsetType = UNSET

    @property
    def remote(self) -> RemoteModelEntry | None:
        """The server, if it is one."""
        return None if isinstance(self.endpoint, UnsetType) else self.endpoint


class LocalModelSection(_Section, frozen=True):
    """``localModelManagement``."""

    models: list[LocalModelEntry]


class GenerationModelSettings(_Section, frozen=True):
    """An element of ``conversationSettings.generationModel``."""

    name: str
    model_name: str
    url: str
    needs_key: bool = msgspec.field(name="setApiKey", default=False)
    # Not in the front end's document: prices per million tokens, and how much the model can read.
    input_price: float | None = None
    output_price: float | None = None
    context_tokens: int | None = None


class ConversationSection(_Section, frozen=True):
    """``conversationSettings``."""

    generation_models: list[GenerationModelSettings] = msgspec.field(name="generationModel")
    history_length: int
    # Not in the front end's document.
    max_rounds: int = 3
    summarize_history: bool = False
    # Of the prices: a code such as USD, or a sign.
    currency: str = ""


class PerformanceSection(_Section, frozen=True):
    """``performance``."""

    max_threads: int
    use_cuda: bool
    use_coreml: bool = msgspec.field(name="useCoreML")
    # Not in the front end's document: texts are embedded only while there is mains power.
    pause_on_battery: bool = False


class KernelSection(_Section, frozen=True):
    """``kernel``, which is not in the front end's document."""

    # How long the kernel stays after its last client; 0: it leaves at once.
    idle_minutes: float = 10.0
    # True: each front end has a kernel of its own.
    standalone: bool = False


class AgentCommandEntry(_Section, frozen=True):
    """An element of ``agents``, which is not in the front end's document: an agent of ACP."""

    name: str
    command: str
    args: list[str] = msgspec.field(default_factory=list)
    env: dict[str, str] = msgspec.field(default_factory=dict)


class HubSection(_Section, frozen=True):
    """``hub``, which is not in the front end's document: `codekernel hub`."""

    port: int = DEFAULT_HUB_PORT
    # Foreign pages that may call the hub, such as https://app.example.com.
    origins: list[str] = msgspec.field(default_factory=list)
    # The address that devices use, where a tunnel on this machine leads to the hub.
    tunnel_url: str = ""


class TelegramSection(_Section, frozen=True):
    """``telegram``, which is not in the front end's document; the bot's token is in the vault."""

    enabled: bool = False
    api_base: str = DEFAULT_TELEGRAM_API_BASE
    notices_only: bool = False


class LarkSection(_Section, frozen=True):
    """``lark``, which is not in the front end's document; the app's secret is in the vault."""

    enabled: bool = False
    app_id: str = ""
    domain: str = DEFAULT_LARK_DOMAIN
    notices_only: bool = False


class SharingSection(_Section, frozen=True):
    """``sharing``, which is not in the front end's document; salt and keys are in the vault."""

    store: str = ""
    mode: SharingMode = SharingMode.READ
    endpoint: str = ""
    region: str = ""
    base: str = ""
    trusted_keys: list[str] = msgspec.field(default_factory=list)


_DEFAULTS = Settings()


class SettingsFile(_Section, frozen=True):
    """The whole file."""

    search_settings: SearchSection = SearchSection(search_limit=_DEFAULTS.search_limit)
    local_model_management: LocalModelSection = LocalModelSection(models=[])
    conversation_settings: ConversationSection = ConversationSection(
        generation_models=[], history_length=_DEFAULTS.history_length
    )
    performance: PerformanceSection = PerformanceSection(
        max_threads=0, use_cuda=False, use_coreml=False
    )
    kernel: KernelSection = KernelSection()
    agents: list[AgentCommandEntry] = msgspec.field(default_factory=list)
    hub: HubSection = HubSection()
    telegram: TelegramSection = TelegramSection()
    lark: LarkSection = LarkSection()
    sharing: SharingSection = SharingSection()


Decoded = TypeVar("Decoded")


def parse_settings(content: bytes) -> SettingsFile:
    """Decode settings.json, tolerating comments, trailing commas and Windows encodings.

    Raises ``InvalidSettings`` naming the line and column, or the key, and what was expected there.
    """
    return _parse(content, _DECODER)


def _parse(content: bytes, decoder: msgspec.json.Decoder[Decoded]) -> Decoded:
    try:
        text = decode_text(content)
    except UnicodeDecodeError as error:
        raise InvalidSettings(
            f"expected text in UTF-8, but byte {error.start} is not; save the file as UTF-8"
        ) from error
    if "\0" in text:
        raise InvalidSettings("expected text in UTF-8, got binary data; save the file as UTF-8")
    if not text.strip():
        raise InvalidSettings("expected a JSON object, but the file is empty")
    try:
        return _decode(text, decoder)
    except msgspec.DecodeError:
        stripped = strip_comments(text)
    if not stripped.strip():
        raise InvalidSettings("expected a JSON object, but the file holds only comments")
    try:
        return _decode(stripped, decoder)
    except msgspec.DecodeError as error:
        place = _BYTE_POSITION.search(str(error))
        problem = describe_syntax_error(stripped, int(place[1]) if place else None)
        raise InvalidSettings(problem) from error


def _decode(text: str, decoder: msgspec.json.Decoder[Decoded]) -> Decoded:
    try:
        return decoder.decode(text)
    except msgspec.ValidationError as error:
        raise InvalidSettings(_describe_shape_error(str(error))) from error
    except RecursionError as error:
        raise InvalidSettings(TOO_DEEP) from error


_DECODER = msgspec.json.Decoder(SettingsFile)

_SECTIONS_DECODER = msgspec.json.Decoder(dict[str, msgspec.Raw])

_BYTE_POSITION = re.compile(r"\(byte (\d+)\)")

_SHAPE = re.compile(r"(?P<fact>.*?)(?: - at `\$\.?(?P<key>.*)`)?", re.DOTALL)

_MISSING = re.compile(r"Object missing required field `(.*)`")

_MISMATCH = re.compile(r"Expected `(.*)`, got `(.*)`")

_TYPE_NAMES = {
    "int": "a whole number",
    "float": "a decimal number",
    "float | null": "a number",
    "str": "text",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
}


def _describe_shape_error(message: str) -> str:
    """Reword an error of msgspec for the person who edits the file."""
    shape: Any = _SHAPE.fullmatch(message)
    fact, key = shape["fact"], shape["key"] or ""
    if missing := _MISSING.fullmatch(fact):
        return f"{'.'.join(filter(None, (key, missing[1])))} is missing"
    subject = key or "the file"
    if mismatch := _MISMATCH.fullmatch(fact):
        expected, found = (_TYPE_NAMES.get(word, word) for word in mismatch.groups())
        return f"{subject} must be {expected}, got {found}"
    if fact.startswith("Invalid enum value"):
        known = SharingMode if key == "sharing.mode" else ModelKind
        kinds = ", ".join(kind.value for kind in known)
        return f"{subject} must be one of {kinds}, got {fact.removeprefix('Invalid enum value ')}"
    if fact.endswith("out of range"):
        return f"{subject} must be a number of reasonable size, got one that is out of range"
    return f"{subject}: {fact}"


# These decide what is indexed, and which vectors are deleted.
_INDEX_SECTIONS = frozenset({"searchSettings", "localModelManagement"})

_FIELD_BY_SECTION = {each.encode_name: each.name for each in msgspec.structs.fields(SettingsFile)}


@dataclass(frozen=True, slots=True)
class SettingsSections:
    """The file with the defaults of each broken section, and what is wrong with it."""

    file: SettingsFile
    problems: dict[str, str] = field(default_factory=dict)
    # Whether the file itself has the sections that decide what is indexed.
    has_index_sections: bool = True

    def replace_with_defaults(self, problems: dict[str, str]) -> "SettingsSections":
        """Return a copy with the defaults of further sections."""
        defaults = SettingsFile()
        names = [_FIELD_BY_SECTION[name] for name in problems]
        file = msgspec.structs.replace(
            self.file, **{name: getattr(defaults, name) for name in names}
        )
        return SettingsSections(file, self.problems | problems, has_index_sections=False)


def parse_settings_sections(content: bytes) -> SettingsSections:
    """Decode the sections that are valid; raises InvalidSettings if the file is no JSON object."""
    try:
        document = _parse(content, _SECTIONS_DECODER)
    except InvalidSettings:
        parse_settings(content)  # raises the error that explains it
        raise
    good: dict[str, msgspec.Raw] = {}
    problems: dict[str, str] = {}
    for name in _FIELD_BY_SECTION.keys() & document.keys():
        try:
            parse_settings(msgspec.json.encode({name: document[name]}))
        except InvalidSettings as error:
            problems[name] = str(error)
        else:
            good[name] = document[name]
    is_whole = not problems and good.keys() >= _INDEX_SECTIONS
    return SettingsSections(parse_settings(msgspec.json.encode(good)), problems, is_whole)
