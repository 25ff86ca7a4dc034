"""Convert settings.json to Settings and back.

Strict checking for the front end, lenient loading at start-up with the defaults of broken
sections.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from codekernel.domain.settings import (
    AgentCommand,
    EmbeddingConfig,
    GenerationModel,
    HubOptions,
    KernelOptions,
    LarkSettings,
    LocalModel,
    Performance,
    RemoteModel,
    RerankConfig,
    Settings,
    SharingSettings,
    TelegramSettings,
)
from codekernel.errors import InvalidSettings
from codekernel.inference.model_folder import STATIC_MODEL, TRANSFORMER_MODEL, get_bundled_folder
from codekernel.protocol import settings_file as declared
from codekernel.protocol.envelope import convert_values
from codekernel.settings import local_models, validation


def convert_to_settings(file: declared.SettingsFile) -> Settings:
    """Convert a file that breaks no rule; built-in models and default configs are added."""
    search, conversation = file.search_settings, file.conversation_settings
    listed = tuple(
        LocalModel(
            entry.name, Path(entry.path), entry.type, entry.file_size, _convert_endpoint(entry)
        )
        for entry in file.local_model_management.models
    )
    names = {model.name for model in listed}
    built_in = tuple(
        model for model in local_models.list_built_in_models() if model.name not in names
    )
    configs = tuple(
        replace(config, model_name=local_models.resolve_model_name(config.model_name, names))
        for config in convert_values(search.embedding_config.configs, list[EmbeddingConfig])
    )
    rerank_configs = tuple(
        replace(config, model_name=local_models.resolve_model_name(config.model_name, names))
        for config in convert_values(search.rerank_config.configs, list[RerankConfig])
    )
    return Settings(
        search_limit=search.search_limit,
        embedding_configs=configs or local_models.build_default_embedding_configs(),
        rerank_configs=rerank_configs or local_models.build_default_rerank_configs(),
        local_models=listed + built_in,
        generation_models=convert_values(
            conversation.generation_models, tuple[GenerationModel, ...]
        ),
        history_length=conversation.history_length,
        summarize_history=conversation.summarize_history,
        currency=conversation.currency,
        max_rounds=conversation.max_rounds,
        performance=convert_values(file.performance, Performance),
        kernel=convert_values(file.kernel, KernelOptions),
        agents=convert_values(file.agents, tuple[AgentCommand, ...]),
        hub=convert_values(file.hub, HubOptions),
        telegram=convert_values(file.telegram, TelegramSettings),
        lark=convert_values(file.lark, LarkSettings),
        sharing=convert_values(file.sharing, SharingSettings),
        standby_model=get_bundled_folder() / STATIC_MODEL,
        standby_reranker=get_bundled_folder() / TRANSFORMER_MODEL,
    )


def _convert_endpoint(entry: declared.LocalModelEntry) -> RemoteModel | None:
    asked = entry.remote
    if asked is None:
        return None
    return RemoteModel(
        entry.name,
        asked.url,
        asked.model_name,
        asked.needs_key,
        asked.input_price,
        asked.query_prefix,
        asked.document_prefix,
        asked.batch_size,
        asked.concurrency,
    )


def convert_to_file(settings: Settings) -> declared.SettingsFile:
    """Return the file that gives these settings; built-in models are not listed in it."""
    built_in = local_models.list_built_in_models()
    embedding = convert_values(settings.embedding_configs, list[declared.EmbeddingConfigEntry])
    rerank = convert_values(settings.rerank_configs, list[declared.RerankConfigEntry])
    return declared.SettingsFile(
        declared.SearchSection(
            settings.search_limit,
            declared.EmbeddingSection(embedding),
            declared.RerankSection(rerank),
        ),
        declared.LocalModelSection(
            [
                _convert_local_model(model)
                for model in settings.local_models
                if model not in built_in
            ]
        ),
        convert_values(settings, declared.ConversationSection),
        convert_values(settings.performance, declared.PerformanceSection),
        convert_values(settings.kernel, declared.KernelSection),
        convert_values(settings.agents, list[declared.AgentCommandEntry]),
        convert_values(settings.hub, declared.HubSection),
        convert_values(settings.telegram, declared.TelegramSection),
        convert_values(settings.lark, declared.LarkSection),
        convert_values(settings.sharing, declared.SharingSection),
    )


def _convert_local_model(model: LocalModel) -> declared.LocalModelEntry:
    if model.remote is None:
        return declared.LocalModelEntry(model.name, str(model.path), model.kind, model.file_size_mb)
    endpoint = convert_values(model.remote, declared.RemoteModelEntry)
    return declared.LocalModelEntry(model.name, "", model.kind, model.file_size_mb, endpoint)


_Parsed = TypeVar("_Parsed")

# What follows the name of a section in "agents[0].name must not be empty".
_SECTION_NAME = re.compile(r"\W")

MAX_SETTINGS_FILE_BYTES = 16 * 1024 * 1024  # bytes; a thousand times the settings of a busy user


def check_settings_file(
    path: Path, *, has_key: validation.HasApiKey, hardware: validation.DetectHardware
) -> Settings:
    """Read ``path`` and check every rule and requirement.

    Raises ``InvalidSettings`` listing everything that is wrong, so that one correction is enough.
    """
    try:
        file = _parse_file(path, declared.parse_settings)
    except InvalidSettings as error:
        raise InvalidSettings(f"Failed in checking settings: {error}") from error
    violations = validation.find_rule_violations(file)
    unmet = validation.find_unmet_requirements(file, has_key=has_key, hardware=hardware)
    if problems := "; ".join([*violations, *unmet]):
        raise InvalidSettings(f"Failed in checking settings: {problems}")
    return convert_to_settings(file)


def load_settings_file(path: Path) -> tuple[Settings, list[str]]:
    """Read the valid sections of ``path``; return warnings for those replaced by their defaults.

    Quick, because start-up waits for it: list_unmet_requirements checks what the machine offers. A
    file that asks for too much is kept: an unplugged disk must not delete a configuration, nor its
    index.
    """
    try:
        sections = _read_valid_sections(path)
    except InvalidSettings as error:
        return local_models.build_default_settings(), [f"{error}; the default settings are used"]
    warnings = [
        f"{path.name}: {problem}; the defaults of {name} are used"
        for name, problem in sections.problems.items()
    ]
    return convert_to_settings(sections.file), warnings


def has_explicit_index_settings(path: Path) -> bool:
    """Whether the file itself says what to index; else no vectors may be deleted."""
    return _read_sections_or_defaults(path).has_index_sections


def list_unmet_requirements(
    path: Path, *, has_key: validation.HasApiKey, hardware: validation.DetectHardware
) -> list[str]:
    """List what a file asks for and this machine lacks now; may load the inference runtime."""
    file = _read_sections_or_defaults(path).file
    unmet = validation.find_unmet_requirements(file, has_key=has_key, hardware=hardware)
    return [f"{path.name}: {requirement}" for requirement in unmet]


def list_endpoint_warnings(path: Path, *, has_key: validation.HasApiKey) -> list[str]:
    """List the warnings about endpoints without encryption; empty for an unreadable file."""
    file = _read_sections_or_defaults(path).file
    return [
        *validation.find_plain_http_warnings(file.conversation_settings.generation_models, has_key),
        *validation.find_plain_endpoint_warnings(file),
    ]


def _read_sections_or_defaults(path: Path) -> declared.SettingsSections:
    try:
        return _read_valid_sections(path)
    except InvalidSettings:
        return declared.SettingsSections(declared.SettingsFile(), has_index_sections=False)


def _read_valid_sections(path: Path) -> declared.SettingsSections:
    """Read the valid sections; a broken one may make another invalid that refers to it."""
    sections = _parse_file(path, declared.parse_settings_sections)
    while broken := validation.find_rule_violations(sections.file):
        by_section: dict[str, list[str]] = {}
        for problem in broken:
            by_section.setdefault(_SECTION_NAME.split(problem, 1)[0], []).append(problem)
        sections = sections.replace_with_defaults(
            {name: "; ".join(of) for name, of in by_section.items()}
        )
    return sections


def _parse_file(path: Path, parse: Callable[[bytes], _Parsed]) -> _Parsed:
    content = _read_content(path)
    try:
        return parse(content)
    except InvalidSettings as error:
        raise InvalidSettings(f"{path.name}: {error}") from error


def _read_content(path: Path) -> bytes:
    try:
        if path.exists() and not path.is_file():  # opening a pipe would wait for its writer
            raise InvalidSettings(f"cannot read {path}: it is not a file")
        with path.open("rb") as file:
            content = file.read(MAX_SETTINGS_FILE_BYTES + 1)
    except FileNotFoundError as error:
        problem = f"there is no file {path}, which the front end should have written"
        raise InvalidSettings(problem) from error
    except OSError as error:
        raise InvalidSettings(f"cannot read {path}: {error.strerror or error}") from error
    if len(content) > MAX_SETTINGS_FILE_BYTES:
        problem = f"cannot read {path}: it is larger than {MAX_SETTINGS_FILE_BYTES} bytes"
        raise InvalidSettings(problem)
    return content
