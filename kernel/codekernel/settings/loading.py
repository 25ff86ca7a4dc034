"""Settings.json to Settings and back.

Strict checking for the front end, lenient loading at start-up with the defaults of broken
sections.
"""

from collections.abc import Callable
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
    """Convert a file that breaks no rule."""
    search = file.search_settings
    listed = {entry.name for entry in file.local_model_management.models}
    return Settings(
        search_limit=search.search_limit,
        embedding_configs=tuple(
            EmbeddingConfig(
                entry.name,
                resolve_model_name(entry.model_name, listed),
                entry.input_length,
                entry.selected,
            )
            for entry in search.embedding_config.configs
        )
        or build_default_embedding_configs(),
        rerank_configs=tuple(
            RerankConfig(entry.model_name, entry.selected) for entry in search.rerank_config.configs
        )
        or build_default_rerank_configs(),
        local_models=_merge_built_in_models(file),
        generation_models=tuple(
            GenerationModel(
                entry.name,
                entry.model_name,
                entry.url,
                entry.set_api_key,
                entry.input_price,
                entry.output_price,
                entry.context_tokens,
            )
            for entry in file.conversation_settings.generation_model
        ),
        history_length=file.conversation_settings.history_length,
        summarize_history=file.conversation_settings.summarize_history,
        max_rounds=file.conversation_settings.max_rounds,
        performance=Performance(
            max_threads=file.performance.max_threads,
            use_cuda=file.performance.use_cuda,
            use_coreml=file.performance.use_coreml,
            pause_on_battery=file.performance.pause_on_battery,
        ),
    )


def convert_to_file(settings: Settings) -> SettingsFile:
    """The file that would give these settings; models in the box need no mention in it."""
    in_the_box = list_built_in_models()
    return SettingsFile(
        search_settings=_build_search_section(settings),
        local_model_management=LocalModelSection(
            models=[
                LocalModelEntry(model.name, str(model.path), model.kind, model.file_size_mb)
                for model in settings.local_models
                if model not in in_the_box
            ]
        ),
        conversation_settings=ConversationSection(
            generation_model=[
                GenerationModelSettings(
                    model.name,
                    model.model_name,
                    model.url,
                    model.needs_key,
                    model.input_price,
                    model.output_price,
                    model.context_tokens,
                )
                for model in settings.generation_models
            ],
            history_length=settings.history_length,
            max_rounds=settings.max_rounds,
            summarize_history=settings.summarize_history,
        ),
        performance=PerformanceSection(
            max_threads=settings.performance.max_threads,
            use_cuda=settings.performance.use_cuda,
            use_coreml=settings.performance.use_coreml,
            pause_on_battery=settings.performance.pause_on_battery,
        ),
    )


def _build_search_section(settings: Settings) -> SearchSection:
    return SearchSection(
        search_limit=settings.search_limit,
        embedding_config=EmbeddingSection(
            configs=[
                EmbeddingConfigEntry(
                    config.name, config.model_name, config.max_chunk_chars, config.is_selected
                )
                for config in settings.embedding_configs
            ]
        ),
        rerank_config=RerankSection(
            configs=[
                RerankConfigEntry(config.model_name, config.is_selected)
                for config in settings.rerank_configs
            ]
        ),
    )


def _merge_built_in_models(file: SettingsFile) -> tuple[LocalModel, ...]:
    """The models listed, then those in the box whose names are not taken."""
    listed = tuple(
        LocalModel(entry.name, Path(entry.path), entry.type, entry.file_size)
        for entry in file.local_model_management.models
    )
    taken = {model.name for model in listed}
    return listed + tuple(model for model in list_built_in_models() if model.name not in taken)


_Parsed = TypeVar("_Parsed")

MAX_SETTINGS_FILE_BYTES = 16 * 1024 * 1024  # bytes; a thousand times the settings of a busy user


def check_settings_file(path: Path, *, has_key: HasApiKey, hardware: DetectHardware) -> Settings:
    """Read ``path`` and hold it to every rule and circumstance.

    Raises ``InvalidSettings`` listing everything that is wrong, so that one correction is enough.
    """
    try:
        file = _read_settings(path)
    except InvalidSettings as error:
        raise InvalidSettings(f"Failed in checking settings: {error}") from error
    problems = [
        *find_rule_violations(file),
        *find_unmet_requirements(file, has_key=has_key, hardware=hardware),
    ]
    if problems:
        raise InvalidSettings(f"Failed in checking settings: {'; '.join(map(str, problems))}")
    return convert_to_settings(file)


def load_settings_file(path: Path) -> tuple[Settings, list[str]]:
    """Read ``path`` as well as it can be read, with a warning where defaults had to do.

    They stand in for a section that breaks a rule or is no section, not for the others.

    Quick, because start-up waits for it: whether the machine offers what the file asks for is the
    question of ``needs``. A file that asks for too much is kept all the same: an unplugged disk
    must not make a configuration vanish, nor its index.
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
    """Whether what ``load`` found there says itself what to index; else nothing is deleted."""
    try:
        return _read_valid_sections(path).has_index_sections
    except InvalidSettings:
        return False


def list_unmet_requirements(
    path: Path, *, has_key: HasApiKey, hardware: DetectHardware
) -> list[str]:
    """What a file asks for and this machine does not offer now; may load the runtime."""
    try:
        file = _read_valid_sections(path).file
    except InvalidSettings:
        return []
    unmet = find_unmet_requirements(file, has_key=has_key, hardware=hardware)
    return [f"{path.name}: {need}" for need in unmet]


def list_endpoint_warnings(path: Path, *, has_key: HasApiKey) -> list[str]:
    """What a file may ask for and a person should know of; empty for one that cannot be read."""
    try:
        file = _read_valid_sections(path).file
    except InvalidSettings:
        return []
    return find_plain_http_warnings(file.conversation_settings.generation_model, has_key)


def _read_settings(path: Path) -> SettingsFile:
    return _parse_file(path, parse_settings)


def _read_valid_sections(path: Path) -> SettingsSections:
    """The sections that can be used; one that breaks a rule may be what another one refers to."""
    sections = _parse_file(path, parse_settings_sections)
    while broken := find_rule_violations(sections.file):
        by_section: dict[str, list[str]] = {}
        for problem in broken:
            by_section.setdefault(problem.key.partition(".")[0], []).append(str(problem))
        sections = sections.replace_with_defaults(
            {name: "; ".join(of) for name, of in by_section.items()}
        )
    return sections


def _parse_file(path: Path, parsed: Callable[[bytes], _Parsed]) -> _Parsed:
    try:
        content = _read_content(path)
    except FileNotFoundError as error:
        raise InvalidSettings(
            f"there is no file {path}, which the front end should have written"
        ) from error
    except OSError as error:
        raise InvalidSettings(f"cannot read {path}: {error.strerror or error}") from error
    try:
        return parsed(content)
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
