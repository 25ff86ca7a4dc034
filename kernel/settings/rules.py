"""What settings.json must obey on any machine: pure functions from the file to its problems."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from kernel.domain.settings import ModelKind
from kernel.protocol.settings_file import GenerationModelEntry, SettingsFile
from kernel.settings.box import built_in_models, model_meant

MOST_RESULTS = 10_000
LONGEST_INPUT = 1_000_000  # characters; no model reads that far
MOST_ROUNDS = 20  # each is a request to the model; one that has not found it by then will not
SMALLEST_WINDOW = 1024  # tokens; the rules of a conversation and one excerpt are about that
LARGEST_NUMBER = 2**53 - 1  # the last whole number that a JavaScript front end can show exactly


@dataclass(frozen=True, slots=True)
class Problem:
    """A key that breaks a rule; ``reason`` reads on from the key: "must be at least 1"."""

    key: str
    reason: str

    def __str__(self) -> str:
        return f"{self.key} {self.reason}"


def broken_rules(file: SettingsFile) -> list[Problem]:
    """Every rule the file breaks, in the order of the file."""
    return [
        *_within("searchSettings.searchLimit", file.search_settings.search_limit, 1, MOST_RESULTS),
        *_embedding_problems(file),
        *_rerank_problems(file),
        *_local_model_problems(file),
        *_generation_problems(file),
        *_within(
            "conversationSettings.historyLength",
            file.conversation_settings.history_length,
            0,
            LARGEST_NUMBER,
        ),
        *_within(
            "conversationSettings.maxRounds", file.conversation_settings.max_rounds, 0, MOST_ROUNDS
        ),
        *_within("performance.maxThreads", file.performance.max_threads, 0, LARGEST_NUMBER),
    ]


def _embedding_problems(file: SettingsFile) -> Iterator[Problem]:
    place = "searchSettings.embeddingConfig.configs"
    configs = file.search_settings.embedding_config.configs
    yield from _distinct(place, "name", [config.name for config in configs])
    for index, config in enumerate(configs):
        key = f"{place}[{index}]"
        yield from _refers(f"{key}.modelName", config.model_name, ModelKind.EMBEDDING, file)
        yield from _within(f"{key}.inputLength", config.input_length, 1, LONGEST_INPUT)


def _rerank_problems(file: SettingsFile) -> Iterator[Problem]:
    place = "searchSettings.rerankConfig.configs"
    configs = file.search_settings.rerank_config.configs
    yield from _distinct(place, "modelName", [config.model_name for config in configs])
    for index, config in enumerate(configs):
        key = f"{place}[{index}].modelName"
        yield from _refers(key, config.model_name, ModelKind.RERANK, file)
    selected = sum(config.selected for config in configs)
    if selected > 1:
        yield Problem(place, f"must have at most one selected, got {selected}")


def _local_model_problems(file: SettingsFile) -> Iterator[Problem]:
    place = "localModelManagement.models"
    models = file.local_model_management.models
    yield from _distinct(place, "name", [model.name for model in models])
    for index, model in enumerate(models):
        key = f"{place}[{index}]"
        if not Path(model.path).is_absolute():
            yield Problem(f"{key}.path", f'must be an absolute path, got "{model.path}"')
        if model.file_size is not None and model.file_size < 0:
            yield Problem(f"{key}.fileSize", f"must be at least 0, got {model.file_size:g}")


def _generation_problems(file: SettingsFile) -> Iterator[Problem]:
    place = "conversationSettings.generationModel"
    models = file.conversation_settings.generation_model
    yield from _distinct(place, "name", [model.name for model in models])
    for index, model in enumerate(models):
        key = f"{place}[{index}]"
        if not model.model_name.strip():
            yield Problem(f"{key}.modelName", "must not be empty")
        yield from _url_problems(f"{key}.url", model)
        yield from _price_problems(key, model)
        if model.context_tokens is not None:
            tokens = model.context_tokens
            yield from _within(f"{key}.contextTokens", tokens, SMALLEST_WINDOW, LARGEST_NUMBER)


def _price_problems(key: str, model: GenerationModelEntry) -> Iterator[Problem]:
    for name, price in (("inputPrice", model.input_price), ("outputPrice", model.output_price)):
        if price is not None and price < 0:
            yield Problem(f"{key}.{name}", f"must be at least 0, got {price:g}")


def _url_problems(key: str, model: GenerationModelEntry) -> Iterator[Problem]:
    if not model.url:
        if model.set_api_key:
            yield Problem(key, "must not be empty when setApiKey is true")
    elif not _is_web_address(model.url):
        # The value is not repeated: a key pasted into the wrong field must not reach a log.
        yield Problem(key, "must start with http:// or https:// and name a host")


def _is_web_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        named = bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False
    return named and parts.scheme in {"http", "https"} and url.isprintable() and " " not in url


def _within(key: str, value: int, least: int, most: int) -> Iterator[Problem]:
    if value < least:
        yield Problem(key, f"must be at least {least}, got {value}")
    elif value > most:
        yield Problem(key, f"must be at most {most}, got {value}")


def _distinct(place: str, field: str, names: Iterable[str]) -> Iterator[Problem]:
    first: dict[str, str] = {}
    for index, name in enumerate(names):
        key = f"{place}[{index}].{field}"
        if not name.strip():
            yield Problem(key, "must not be empty")
        elif name in first:
            yield Problem(key, f'must be unique, but {first[name]} is "{name}" too')
        else:
            first[name] = key


def _refers(key: str, name: str, kind: ModelKind, file: SettingsFile) -> Iterator[Problem]:
    listed = {model.name: model.type for model in file.local_model_management.models}
    known = {model.name: model.kind for model in built_in_models()} | listed
    meant = model_meant(name, listed)
    kinds = {known[meant]} if meant in known else set()
    if not name.strip() or kind in kinds:
        return
    demand = f"must be the name of a local model of type {kind.value}"
    found = f', but "{name}" is of type {kinds.pop().value}' if kinds else f', got "{name}"'
    yield Problem(key, demand + found)
