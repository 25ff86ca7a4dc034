"""Validation of settings.json.

Rules that hold on any machine, what this machine lacks now (folders, keys, accelerators), and
warnings of keys sent over plain HTTP.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from codekernel.domain.settings import BASE_NAME, OWN_AGENT, SIGNING_KEY, Hardware, ModelKind
from codekernel.errors import InvalidModel, KernelError
from codekernel.inference.model_folder import check_model_files
from codekernel.protocol.settings_file import (
    EmbeddingConfigEntry,
    GenerationModelSettings,
    RemoteModelEntry,
    RerankConfigEntry,
    SettingsFile,
)
from codekernel.settings.local_models import list_built_in_models, resolve_model_name

MAX_SEARCH_LIMIT = 10_000

MAX_CHUNK_CHARS = 1_000_000  # characters; no model reads that far

MAX_ROUNDS = 20  # each is a request to the model; one that has not found it by then will not

MIN_CONTEXT_TOKENS = 1024  # tokens; the rules of a conversation and one excerpt are about that

MAX_PORT = 65_535

# OpenAI takes so many texts in one request; more requests at once get only refusals.
MAX_REMOTE_BATCH_SIZE, MAX_REMOTE_CONCURRENCY = 2048, 64

# An embedding model ranks by the cosine of the query and a text.
RERANKER_KINDS = (ModelKind.RERANK, ModelKind.EMBEDDING)

MAX_SAFE_INTEGER = 2**53 - 1  # the last whole number that a JavaScript front end can show exactly


def find_rule_violations(file: SettingsFile) -> list[str]:
    """Return every rule the file breaks, as "key must be ...", in the order of the file."""
    search, conversation = file.search_settings, file.conversation_settings
    history, rounds = conversation.history_length, conversation.max_rounds
    return [
        *_check_range("searchSettings.searchLimit", search.search_limit, 1, MAX_SEARCH_LIMIT),
        *_check_embedding_configs(file),
        *_check_rerank_configs(file),
        *_check_local_models(file),
        *_check_generation_models(file),
        *_check_range("conversationSettings.historyLength", history, 0),
        *_check_range("conversationSettings.maxRounds", rounds, 0, MAX_ROUNDS),
        *_check_range("performance.maxThreads", file.performance.max_threads, 0),
        *_check_range("kernel.idleMinutes", file.kernel.idle_minutes, 0),
        *_check_agents(file),
        *_check_lark(file),
        *_check_hub(file),
        *_check_sharing(file),
    ]


def _check_agents(file: SettingsFile) -> Iterator[str]:
    yield from _check_unique("agents", "name", [agent.name for agent in file.agents])
    for index, agent in enumerate(file.agents):
        if not agent.name.strip():
            yield f"agents[{index}].name must not be empty"
        if agent.name == OWN_AGENT:
            yield f'agents[{index}].name must not be "{OWN_AGENT}", which is our own agent'
        if not agent.command.strip():
            yield f"agents[{index}].command must not be empty"


def _check_hub(file: SettingsFile) -> Iterator[str]:
    yield from _check_range("hub.port", file.hub.port, 1, MAX_PORT)
    for index, origin in enumerate(file.hub.origins):
        if not _is_origin(origin):
            yield f"hub.origins[{index}] must be an origin such as https://app.example.com"
    if (url := file.hub.tunnel_url) and not (_is_origin(url) and url.startswith("https:")):
        yield "hub.tunnelUrl must be an address such as https://hub.example.com, without a path"
    if not _is_origin(file.telegram.api_base):
        yield "telegram.apiBase must be an address such as https://api.telegram.org"


def _check_lark(file: SettingsFile) -> Iterator[str]:
    if file.lark.enabled and not file.lark.app_id.strip():
        yield "lark.appId must not be empty when lark.enabled is true"
    domain = file.lark.domain
    if domain not in {"feishu", "lark"} and not _is_origin(domain):
        yield 'lark.domain must be "feishu", "lark" or an address such as https://open.feishu.cn'


_STORE_SCHEMES = ("s3://", "gs://", "az://")


def _check_sharing(file: SettingsFile) -> Iterator[str]:
    store, endpoint = file.sharing.store, file.sharing.endpoint
    if "://" in store:
        if not store.startswith(_STORE_SCHEMES) or not urlsplit(store).netloc:
            yield 'sharing.store must be a folder or a bucket such as "s3://team/codekernel"'
        elif "@" in store or "?" in store:
            yield "sharing.store must not hold a key: codekernel key set sharing:credentials"
    elif store and not Path(store).is_absolute():
        yield "sharing.store must be the absolute path of a folder, or a bucket: s3://team"
    if endpoint and not _is_origin(endpoint):
        yield "sharing.endpoint must be an address such as https://s3.example.com"
    if file.sharing.base and not re.fullmatch(BASE_NAME, file.sharing.base):
        yield "sharing.base must be a name as codekernel build-base was given it: small letters"
    if any(not re.fullmatch(SIGNING_KEY, each) for each in file.sharing.trusted_keys):
        yield "sharing.trustedKeys must be public keys as codekernel pack key prints them"


def _is_origin(text: str) -> bool:
    """Return whether a text is a scheme and a host, as browsers send an origin."""
    try:
        parts = urlsplit(text)
        has_host = bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        return False
    is_plain = text == f"{parts.scheme}://{parts.netloc}" and "@" not in parts.netloc
    return has_host and is_plain and parts.scheme in {"http", "https"} and text == text.lower()


def _check_embedding_configs(file: SettingsFile) -> Iterator[str]:
    place = "searchSettings.embeddingConfig.configs"
    configs = file.search_settings.embedding_config.configs
    yield from _check_unique(place, "name", [config.name for config in configs])
    for index, config in enumerate(configs):
        key = f"{place}[{index}]"
        name = config.model_name
        yield from _check_model_reference(f"{key}.modelName", name, file, ModelKind.EMBEDDING)
        yield from _check_range(f"{key}.inputLength", config.max_chunk_chars, 1, MAX_CHUNK_CHARS)


def _check_rerank_configs(file: SettingsFile) -> Iterator[str]:
    place = "searchSettings.rerankConfig.configs"
    configs = file.search_settings.rerank_config.configs
    yield from _check_unique(place, "modelName", [config.model_name for config in configs])
    for index, config in enumerate(configs):
        key = f"{place}[{index}].modelName"
        yield from _check_model_reference(key, config.model_name, file, *RERANKER_KINDS)
    selected = sum(config.is_selected for config in configs)
    if selected > 1:
        yield f"{place} must have at most one selected, got {selected}"


def _check_local_models(file: SettingsFile) -> Iterator[str]:
    place = "localModelManagement.models"
    models = file.local_model_management.models
    yield from _check_unique(place, "name", [model.name for model in models])
    for index, model in enumerate(models):
        key = f"{place}[{index}]"
        if model.remote:
            yield from _check_endpoint(f"{key}.endpoint", model.remote, model.type)
        elif not Path(model.path).is_absolute():
            yield f'{key}.path must be an absolute path, got "{model.path}"'
        yield from _check_range(f"{key}.fileSize", model.file_size, 0)


def _check_endpoint(key: str, endpoint: RemoteModelEntry, kind: ModelKind) -> Iterator[str]:
    if kind is ModelKind.GENERATION:
        yield f"{key} is for embedding and rerank; chat models are in conversationSettings"
    if not endpoint.model_name.strip():
        yield f"{key}.modelName must not be empty"
    if not _is_web_address(endpoint.url):
        yield f"{key}.url must start with http:// or https:// and name a host"
    elif "@" in urlsplit(endpoint.url).netloc:
        yield f"{key}.url must not hold a password: codekernel key set NAME keeps it"
    yield from _check_range(f"{key}.inputPrice", endpoint.input_price, 0)
    yield from _check_range(f"{key}.batchSize", endpoint.batch_size, 1, MAX_REMOTE_BATCH_SIZE)
    yield from _check_range(f"{key}.concurrency", endpoint.concurrency, 1, MAX_REMOTE_CONCURRENCY)


def _check_generation_models(file: SettingsFile) -> Iterator[str]:
    place = "conversationSettings.generationModel"
    models = file.conversation_settings.generation_models
    yield from _check_unique(place, "name", [model.name for model in models])
    for index, model in enumerate(models):
        key = f"{place}[{index}]"
        if not model.model_name.strip():
            yield f"{key}.modelName must not be empty"
        yield from _check_url(f"{key}.url", model)
        yield from _check_range(f"{key}.inputPrice", model.input_price, 0)
        yield from _check_range(f"{key}.outputPrice", model.output_price, 0)
        tokens = model.context_tokens
        yield from _check_range(f"{key}.contextTokens", tokens, MIN_CONTEXT_TOKENS)


def _check_url(key: str, model: GenerationModelSettings) -> Iterator[str]:
    if not model.url:
        if model.needs_key:
            yield f"{key} must not be empty when setApiKey is true"
    elif not _is_web_address(model.url):
        # The value is not repeated: a key pasted into the wrong field must not reach a log.
        yield f"{key} must start with http:// or https:// and name a host"


def _is_web_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        named = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return named and parts.scheme in {"http", "https"} and url.isprintable() and " " not in url


def _check_range(
    key: str, value: float | None, least: int, most: int = MAX_SAFE_INTEGER
) -> Iterator[str]:
    """Check a number; a price or a size, which is no whole number, has no end."""
    if value is None:
        return
    shown = f"{value:g}" if isinstance(value, float) else value
    if value < least:
        yield f"{key} must be at least {least}, got {shown}"
    elif value > most and isinstance(value, int):
        yield f"{key} must be at most {most}, got {shown}"


def _check_unique(place: str, field: str, names: Iterable[str]) -> Iterator[str]:
    first: dict[str, str] = {}
    for index, name in enumerate(names):
        key = f"{place}[{index}].{field}"
        if not name.strip():
            yield f"{key} must not be empty"
        elif name in first:
            yield f'{key} must be unique, but {first[name]} is "{name}" too'
        else:
            first[name] = key


def _check_model_reference(
    key: str, name: str, file: SettingsFile, *kinds: ModelKind
) -> Iterator[str]:
    listed = {model.name: model.type for model in file.local_model_management.models}
    known = {model.name: model.kind for model in list_built_in_models()} | listed
    found = known.get(resolve_model_name(name, listed))
    if name.strip() and found not in kinds:
        but = f'but "{name}" is of type {found.value}' if found else f'got "{name}"'
        wanted = " or ".join(kind.value for kind in kinds)
        yield f"{key} must be the name of a local model of type {wanted}, {but}"


HasApiKey = Callable[[str], bool]

DetectHardware = Callable[[], Hardware]


def find_unmet_requirements(
    file: SettingsFile, *, has_key: HasApiKey, hardware: DetectHardware
) -> list[str]:
    """Return what the file asks for and this machine lacks now, as "key: sentence"."""
    return [
        *_find_missing_folders(file),
        *_find_missing_models(file),
        *_find_missing_keys(file, has_key),
        *_find_missing_accelerators(file, hardware),
    ]


def _find_missing_folders(file: SettingsFile) -> Iterator[str]:
    for index, model in enumerate(file.local_model_management.models):
        key = f"localModelManagement.models[{index}].path"
        path = Path(model.path)
        if model.remote or not path.is_absolute():
            continue  # nothing on this machine, or a rule violation
        try:
            if not path.is_dir():
                yield f"{key}: there is no folder {path}"
        except OSError as error:
            yield f"{key}: cannot look into {path}: {error.strerror or error}"


def _find_missing_models(file: SettingsFile) -> Iterator[str]:
    """Yield the selected models whose folders lack files."""
    search = file.search_settings
    sections: dict[str, Sequence[EmbeddingConfigEntry | RerankConfigEntry]] = {
        "embeddingConfig": search.embedding_config.configs,
        "rerankConfig": search.rerank_config.configs,
    }
    # Built-in models are complete, and a missing folder is reported above.
    listed = file.local_model_management.models
    paths = {entry.name: Path(entry.path) for entry in listed if entry.remote is None}
    folders = {name: path for name, path in paths.items() if _is_folder(path)}
    describe = cache(_describe_missing_files)
    for section, configs in sections.items():
        for index, config in enumerate(configs):
            path = folders.get(config.model_name) if config.is_selected else None
            if path and (reason := describe(path)):
                key = f"searchSettings.{section}.configs[{index}].modelName"
                yield f'{key}: "{config.model_name}" cannot be used: {reason}'


def _describe_missing_files(path: Path) -> str:
    try:
        check_model_files(path)
    except InvalidModel as error:
        return str(error)
    except (OSError, ValueError) as error:
        return f"cannot look into {path}: {error}"
    return ""


def _is_folder(path: Path) -> bool:
    try:
        return path.is_absolute() and path.is_dir()
    except OSError:
        return False


def _list_needed_keys(file: SettingsFile) -> Iterator[tuple[str, str]]:
    """Yield where a key is needed, and its name."""
    for index, model in enumerate(file.conversation_settings.generation_models):
        if model.needs_key:
            yield f"conversationSettings.generationModel[{index}].setApiKey", model.name
    for index, entry in enumerate(file.local_model_management.models):
        if entry.remote and entry.remote.needs_key:
            yield f"localModelManagement.models[{index}].endpoint.setApiKey", entry.name


def _find_missing_keys(file: SettingsFile, has_key: HasApiKey) -> Iterator[str]:
    for key, name in _list_needed_keys(file):
        try:
            if not has_key(name):
                yield f'{key}: no API key is stored under "{name}", send setApiKey first'
        except (KernelError, OSError) as error:
            yield f"{key}: cannot tell whether an API key is stored: {error}"


def _find_missing_accelerators(file: SettingsFile, hardware: DetectHardware) -> Iterator[str]:
    cuda = ("performance.useCuda", "CUDA")
    coreml = ("performance.useCoreML", "CoreML")
    wanted = [cuda] * file.performance.use_cuda + [coreml] * file.performance.use_coreml
    if not wanted:
        return  # asking the hardware loads the inference runtime
    try:
        found = hardware()
    except (KernelError, OSError) as error:
        for key, name in wanted:
            yield f"{key}: cannot tell whether {name} works here: {error}"
        return
    works = {cuda: found.has_cuda, coreml: found.has_coreml}
    for key, name in wanted:
        if not works[key, name]:
            yield f"{key}: {name} is not available on this machine"


def find_plain_http_warnings(
    models: Iterable[GenerationModelSettings], has_key: HasApiKey
) -> list[str]:
    """Return a warning for each model whose stored key is sent to another machine in plain HTTP."""
    return [
        f'conversationSettings.generationModel[{index}].url: "{model.name}" is asked over http://,'
        " so its API key and your code can be read by anybody on the way to"
        f" {urlsplit(model.url).hostname}. Use https://, or a tunnel to this machine."
        for index, model in enumerate(models)
        if is_plain_http_to_remote(model.url) and _has_stored_key(has_key, model.name)
    ]


def find_plain_endpoint_warnings(file: SettingsFile) -> list[str]:
    """Return a warning for each model that is sent your code in plain HTTP."""
    return [
        f'localModelManagement.models[{index}].endpoint.url: "{entry.name}" is asked over http://,'
        " so your code can be read by anybody on the way to"
        f" {urlsplit(entry.remote.url).hostname}. Use https://, or a tunnel to this machine."
        for index, entry in enumerate(file.local_model_management.models)
        if entry.remote and is_plain_http_to_remote(entry.remote.url)
    ]


def is_plain_http_to_remote(url: str) -> bool:
    """Whether a request to this URL leaves the machine without encryption."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").rstrip(".").casefold()
    except ValueError:
        return False
    return parts.scheme.casefold() == "http" and bool(host) and not _is_loopback(host)


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def _has_stored_key(has_key: HasApiKey, name: str) -> bool:
    try:
        return has_key(name)
    except (KernelError, OSError):
        return False  # a vault that cannot be read sends no key either
