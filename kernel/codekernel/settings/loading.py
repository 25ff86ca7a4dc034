"""Convert settings.json to Settings and back.

Strict checking for the front end, lenient loading at start-up with the defaults of broken
sections.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from codekernel.domain.settings import (
    EmbeddingConfig,
    GenerationModel,
    LocalModel,
    Performance,
    RerankConfig,
    Settings,
)
from codekernel.errors import InvalidSettings
from codekernel.protocol.settings_file import (
    ConversationSection,
    EmbeddingConfigEntry,
    EmbeddingSection,
    GenerationModelSettings,
    LocalModelEntry,
    LocalModelSection,
    PerformanceSection,
    RerankConfigEntry,
    RerankSection,
    SearchSection,
    SettingsFile,
    SettingsSections,
    convert_values,
    parse_settings,
    parse_settings_sections,
)
from codekernel.settings.local_models import (
    build_default_embedding_configs,
    build_default_rerank_configs,
    build_default_settings,
    list_built_in_models,
    resolve_model_name,
)
from codekernel.settings.validation import (
    DetectHardware,
    HasApiKey,
    find_plain_http_warnings,
    find_rule_violations,
    find_unmet_requirements,
)


def convert_to_settings(file: SettingsFile) -> Settings:
    """Convert a file that breaks no rule; built-in models and default configs are added."""
    search, conversation = file.search_settings, file.conversation_settings
    listed = tuple(
        LocalModel(entry.name, Path(entry.path), entry.type, entry.file_size)
        for entry in file.local_model_management.models
    )
    names = {model.name for model in listed}
    built_in = tuple(model for model in list_built_in_models() if model.name not in names)
    configs = tuple(
        replace(config, model_name=resolve_model_name(config.model_name, names))
        for config in convert_values(search.embedding_config.configs, list[EmbeddingConfig])
    )
    rerank_configs = convert_values(search.rerank_config.configs, tuple[RerankConfig, ...])
    return Settings(
        search_limit=search.search_limit,
        embedding_configs=configs or build_default_embedding_configs(),
        rerank_configs=rerank_configs or build_default_rerank_configs(),
        local_models=listed + built_in,
        generation_models=convert_values(
            conversation.generation_model, tuple[GenerationModel, ...]
        ),
        history_length=conversation.history_length,
        summarize_history=conversation.summarize_history,
        max_rounds=conversation.max_rounds,
        performance=convert_values(file.performance, Performance),
    )


def convert_to_file(settings: Settings) -> SettingsFile:
    """Return the file that gives these settings; built-in models are not listed in it."""
    built_in = list_built_in_models()
    embedding = convert_values(settings.embedding_configs, list[EmbeddingConfigEntry])
    rerank = convert_values(settings.rerank_configs, list[RerankConfigEntry])
    return SettingsFile(
        SearchSection(settings.search_limit, EmbeddingSection(embedding), RerankSection(rerank)),
        LocalModelSection(
            [
                LocalModelEntry(model.name, str(model.path), model.kind, model.file_size_mb)
                for model in settings.local_models
                if model not in built_in
            ]
        ),
        ConversationSection(
            convert_values(settings.generation_models, list[GenerationModelSettings]),
            settings.history_length,
            settings.max_rounds,
            settings.summarize_history,
        ),
        convert_values(settings.performance, PerformanceSection),
    )


_Parsed = TypeVar("_Parsed")

MAX_SETTINGS_FILE_BYTES = 16 * 1024 * 1024  # bytes; a thousand times the settings of a busy user


def check_settings_file(path: Path, *, has_key: HasApiKey, hardware: DetectHardware) -> Settings:
    """Read ``path`` and check every rule and requirement.

    Raises ``InvalidSettings`` listing everything that is wrong, so that one correction is enough.
    """
    try:
        file = _parse_file(path, parse_settings)
    except InvalidSettings as error:
        raise InvalidSettings(f"Failed in checking settings: {error}") from error
    violations = map(str, find_rule_violations(file))
    unmet = find_unmet_requirements(file, has_key=has_key, hardware=hardware)
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
        return build_default_settings(), [f"{error}; the default settings are used"]
    warnings = [
        f"{path.name}: {problem}; the defaults of {name} are used"
        for name, problem in sections.problems.items()
    ]
    return convert_to_settings(sections.file), warnings


def has_explicit_index_settings(path: Path) -> bool:
    """Whether the file itself says what to index; else no vectors may be deleted."""
    try:
        return _read_valid_sections(path).has_index_sections
    except InvalidSettings:
        return False


def list_unmet_requirements(
    path: Path, *, has_key: HasApiKey, hardware: DetectHardware
) -> list[str]:
    """List what a file asks for and this machine lacks now; may load the inference runtime."""
    try:
        file = _read_valid_sections(path).file
    except InvalidSettings:
        return []
    unmet = find_unmet_requirements(file, has_key=has_key, hardware=hardware)
    return [f"{path.name}: {requirement}" for requirement in unmet]


def list_endpoint_warnings(path: Path, *, has_key: HasApiKey) -> list[str]:
    """List the warnings about endpoints without encryption; empty for an unreadable file."""
    try:
        file = _read_valid_sections(path).file
    except InvalidSettings:
        return []
    return find_plain_http_warnings(file.conversation_settings.generation_model, has_key)


def _read_valid_sections(path: Path) -> SettingsSections:
    """Read the valid sections; a broken one may make another invalid that refers to it."""
    sections = _parse_file(path, parse_settings_sections)
    while broken := find_rule_violations(sections.file):
        by_section: dict[str, list[str]] = {}
        for problem in broken:
            by_section.setdefault(problem.key.partition(".")[0], []).append(str(problem))
        sections = sections.replace_with_defaults(
            {name: "; ".join(of) for name, of in by_section.items()}
        )
    return sections


def _parse_file(path: Path, parse: Callable[[bytes], _Parsed]) -> _Parsed:
    try:
        content = _read_content(path)
    except FileNotFoundError as error:
        raise InvalidSettings(
            f"there is no file {path}, which the front end should have written"
        ) from error
    except OSError as error:
        raise InvalidSettings(f"cannot read {path}: {error.strerror or error}") from error
    try:
        return parse(content)
    except InvalidSettings as error:
        raise InvalidSettings(f"{path.name}: {error}") from error


def _read_content(path: Path) -> bytes:
    if path.exists() and not path.is_file():  # opening a pipe would wait for its writer for ever
        raise InvalidSettings(f"cannot read {path}: it is not a file")
    with path.open("rb") as file:
        content = file.read(MAX_SETTINGS_FILE_BYTES + 1)
    if len(content) > MAX_SETTINGS_FILE_BYTES:
        raise InvalidSettings(
            f"cannot read {path}: it is larger than {MAX_SETTINGS_FILE_BYTES} bytes"
        )
    return content
