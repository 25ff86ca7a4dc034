"""From the words of settings.json to the values the kernel works with, and back."""

from pathlib import Path

from kernel.domain.settings import (
    EmbeddingConfig,
    GenerationModel,
    LocalModel,
    Performance,
    RerankConfig,
    Settings,
)
from kernel.protocol.settings_file import (
    ConversationSection,
    EmbeddingConfigEntry,
    EmbeddingSection,
    GenerationModelEntry,
    LocalModelEntry,
    LocalModelSection,
    PerformanceSection,
    RerankConfigEntry,
    RerankSection,
    SearchSection,
    SettingsFile,
)
from kernel.settings.box import (
    built_in_models,
    default_configs,
    default_rerank_configs,
    model_meant,
)


def settings_from(file: SettingsFile) -> Settings:
    """Convert a file that breaks no rule."""
    search = file.search_settings
    listed = {entry.name for entry in file.local_model_management.models}
    return Settings(
        search_limit=search.search_limit,
        embedding_configs=tuple(
            EmbeddingConfig(
                entry.name,
                model_meant(entry.model_name, listed),
                entry.input_length,
                entry.selected,
            )
            for entry in search.embedding_config.configs
        )
        or default_configs(),
        rerank_configs=tuple(
            RerankConfig(entry.model_name, entry.selected) for entry in search.rerank_config.configs
        )
        or default_rerank_configs(),
        local_models=_with_built_in(file),
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


def file_of(settings: Settings) -> SettingsFile:
    """The file that would give these settings; models in the box need no mention in it."""
    in_the_box = built_in_models()
    return SettingsFile(
        search_settings=_search(settings),
        local_model_management=LocalModelSection(
            models=[
                LocalModelEntry(model.name, str(model.path), model.kind, model.file_size)
                for model in settings.local_models
                if model not in in_the_box
            ]
        ),
        conversation_settings=ConversationSection(
            generation_model=[
                GenerationModelEntry(
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


def _search(settings: Settings) -> SearchSection:
    return SearchSection(
        search_limit=settings.search_limit,
        embedding_config=EmbeddingSection(
            configs=[
                EmbeddingConfigEntry(
                    config.name, config.model_name, config.input_length, config.selected
                )
                for config in settings.embedding_configs
            ]
        ),
        rerank_config=RerankSection(
            configs=[
                RerankConfigEntry(config.model_name, config.selected)
                for config in settings.rerank_configs
            ]
        ),
    )


def _with_built_in(file: SettingsFile) -> tuple[LocalModel, ...]:
    """The models listed, then those in the box whose names are not taken."""
    listed = tuple(
        LocalModel(entry.name, Path(entry.path), entry.type, entry.file_size)
        for entry in file.local_model_management.models
    )
    taken = {model.name for model in listed}
    return listed + tuple(model for model in built_in_models() if model.name not in taken)
