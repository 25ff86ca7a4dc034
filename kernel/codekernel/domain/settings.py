"""The settings in use, and which accelerators work; protocol/settings_file.py declares the file."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import TypeAlias

# Our own agent; all others are foreign ones.
OWN_AGENT = "codekernel"


class ModelKind(Enum):
    """What a local model is for."""

    EMBEDDING = "embedding"
    RERANK = "rerank"
    GENERATION = "generation"


# Texts that every server takes at once (TEI's limit), and requests that keep one busy.
DEFAULT_REMOTE_BATCH_SIZE, DEFAULT_REMOTE_CONCURRENCY = 32, 4


@dataclass(frozen=True, slots=True)
class RemoteModel:
    """A model that a server runs; ``name`` is the user's name for it, and that of its key.

    The price is per million tokens, in any currency. Prefixes that are None are those of the
    model's family.
    """

    name: str
    url: str
    model_name: str
    needs_key: bool = False
    input_price: float | None = None
    query_prefix: str | None = None
    document_prefix: str | None = None
    batch_size: int = DEFAULT_REMOTE_BATCH_SIZE
    concurrency: int = DEFAULT_REMOTE_CONCURRENCY


# A folder, or a server.
ModelSource: TypeAlias = Path | RemoteModel


@dataclass(frozen=True, slots=True)
class LocalModel:
    """A model of ``localModelManagement``: a folder, or a server instead.

    ``file_size_mb`` is what the settings say.
    """

    name: str
    path: Path
    kind: ModelKind
    file_size_mb: float | None = None
    remote: RemoteModel | None = None

    @property
    def source(self) -> ModelSource:
        """Where the model is."""
        return self.remote or self.path


@dataclass(frozen=True, slots=True)
class EmbeddingConfig:
    """One way of chunking and embedding a repository; several may be selected."""

    name: str
    model_name: str
    max_chunk_chars: int
    is_selected: bool


@dataclass(frozen=True, slots=True)
class RerankConfig:
    """A reranker; at most one is selected."""

    model_name: str
    is_selected: bool


@dataclass(frozen=True, slots=True)
class Price:
    """What a million tokens cost, in whatever currency the user thinks in."""

    per_million_input: float
    per_million_output: float

    def compute_cost(self, input_tokens: int, output_tokens: int) -> float:
        """What so many tokens cost."""
        return (
            input_tokens * self.per_million_input + output_tokens * self.per_million_output
        ) / 1_000_000


@dataclass(frozen=True, slots=True)
class GenerationModel:
    """A chat endpoint; ``name`` is the user's name for it and ``model_name`` the endpoint's.

    Prices are per million tokens, in any currency.
    """

    name: str
    model_name: str
    url: str
    needs_key: bool
    input_price: float | None = None
    output_price: float | None = None
    context_tokens: int | None = None

    @property
    def price(self) -> Price | None:
        """What it costs, if the settings say so; a price that is missing beside one is zero."""
        if self.input_price is None and self.output_price is None:
            return None
        return Price(self.input_price or 0.0, self.output_price or 0.0)


@dataclass(frozen=True, slots=True)
class Performance:
    """How hard the kernel may work; ``max_threads`` 0 means every core."""

    max_threads: int = 0
    use_cuda: bool = False
    use_coreml: bool = False
    pause_on_battery: bool = False


@dataclass(frozen=True, slots=True)
class KernelOptions:
    """How long a kernel stays after its last client, and whether clients share one at all."""

    idle_minutes: float = 10.0
    standalone: bool = False


# Of ``codekernel hub``.
DEFAULT_HUB_PORT = 8790


@dataclass(frozen=True, slots=True)
class HubOptions:
    """``origins`` are foreign pages that may call; ``tunnel_url`` is the hub's public address."""

    port: int = DEFAULT_HUB_PORT
    origins: tuple[str, ...] = ()
    tunnel_url: str = ""


# Telegram's own; a Bot API server can also be run by oneself.
DEFAULT_TELEGRAM_API_BASE = "https://api.telegram.org"


@dataclass(frozen=True, slots=True)
class TelegramSettings:
    """Whether the hub has a bot; ``notices_only``: no content is sent, unless a chat asks."""

    enabled: bool = False
    api_base: str = DEFAULT_TELEGRAM_API_BASE
    notices_only: bool = False


# The platform in China; ``lark`` is the one elsewhere, and a server may be given by its address.
DEFAULT_LARK_DOMAIN = "feishu"


@dataclass(frozen=True, slots=True)
class LarkSettings:
    """Whether the hub has a bot in Lark; ``notices_only``: no content is sent."""

    enabled: bool = False
    app_id: str = ""
    domain: str = DEFAULT_LARK_DOMAIN
    notices_only: bool = False


class SharingMode(Enum):
    """What a kernel does with its team's store."""

    READ = "read"
    READ_WRITE = "read-write"


# What a base may be called: it is a folder of the store.
BASE_NAME = r"[a-z0-9][a-z0-9._-]{0,63}"


@dataclass(frozen=True, slots=True)
class SharingSettings:
    """The store of a team, a folder or a bucket; nothing is shared while ``store`` is empty.

    ``base`` names the base in it that repositories are searched in; empty for none. With
    ``trusted_keys`` only packs are used that one of them has signed.
    """

    store: str = ""
    mode: SharingMode = SharingMode.READ
    endpoint: str = ""
    region: str = ""
    base: str = ""
    trusted_keys: tuple[str, ...] = ()


# A public key as minisign writes it.
SIGNING_KEY = r"RW[Q-T][A-Za-z0-9+/]{53}"


@dataclass(frozen=True, slots=True)
class AgentCommand:
    """A foreign agent: the program that is started for it, which speaks ACP on its stdio."""

    name: str
    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)


# About 15,000 tokens: some long answers, and an eighth of what current models read at least.
DEFAULT_HISTORY_CHARS = 60_000


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings; settings/local_models.py adds the bundled models."""

    search_limit: int = 10
    embedding_configs: tuple[EmbeddingConfig, ...] = ()
    rerank_configs: tuple[RerankConfig, ...] = ()
    local_models: tuple[LocalModel, ...] = ()
    generation_models: tuple[GenerationModel, ...] = ()
    history_length: int = DEFAULT_HISTORY_CHARS
    currency: str = ""
    summarize_history: bool = False
    max_rounds: int = 3
    performance: Performance = field(default_factory=Performance)
    kernel: KernelOptions = field(default_factory=KernelOptions)
    agents: tuple[AgentCommand, ...] = ()
    hub: HubOptions = field(default_factory=HubOptions)
    telegram: TelegramSettings = field(default_factory=TelegramSettings)
    lark: LarkSettings = field(default_factory=LarkSettings)
    sharing: SharingSettings = field(default_factory=SharingSettings)
    # Models on this machine that answer while remote ones are away.
    standby_model: Path | None = None
    standby_reranker: Path | None = None


@dataclass(frozen=True, slots=True)
class Hardware:
    """Each flag is true only after a trial session ran on that accelerator."""

    has_cuda: bool
    has_coreml: bool


# ``option_id`` by which our own agent is allowed all further calls of a kind.
ALLOW_TURN_OPTION = "allow_turn"

# The same, for whatever the rule of a permission allows; and for some hunks of an edit, such as
# "hunks:0,2".
ALLOW_RULE_OPTION = "allow_rule"
HUNKS_OPTION_PREFIX = "hunks:"
