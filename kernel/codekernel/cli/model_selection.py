"""Read the settings for a command.

The index plan, the chat model, the reranker, and the pool of loaded models.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from codekernel.cli.output.terminal import print_notice
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.settings import ModelKind, Settings
from codekernel.domain.turn import Price
from codekernel.errors import InvalidModel, NetworkError
from codekernel.indexing.index_plan import IndexPlan, build_index_plan
from codekernel.search.pipeline import RerankFunction
from codekernel.settings.local_models import build_default_settings

_EXAMPLE_MODEL = (
    '{ "name": "deepseek", "modelName": "deepseek-chat", "url": "https://api.deepseek.com",'
    ' "setApiKey": true }'
)

_EXAMPLE_SETTINGS = (
    '{ "searchSettings": { "searchLimit": 10, "embeddingConfig": { "configs": [] },'
    ' "rerankConfig": { "configs": [] } }, "localModelManagement": { "models": [] },'
    f' "conversationSettings": {{ "generationModel": [{_EXAMPLE_MODEL}], "historyLength": 1000 }},'
    ' "performance": { "maxThreads": 0, "useCuda": false, "useCoreML": false } }'
)


def list_model_names(settings: Settings) -> list[str]:
    """What can be asked, in the order of the settings."""
    return [
        *(model.name for model in settings.generation_models),
        *(model.name for model in settings.local_models if model.kind is ModelKind.GENERATION),
    ]


def choose_model(settings: Settings, model_name: str | None, settings_file: Path) -> str:
    """The model named, else the first there is. Raises NetworkError with what to do."""
    if model_name:
        return model_name
    names = list_model_names(settings)
    if not names:
        raise NetworkError(f"no chat model is set up. {describe_model_setup(settings_file)}")
    return names[0]


def describe_model_setup(settings_file: Path) -> str:
    """How to set up a chat model, for whoever has none."""
    then = "Then store its key, if it needs one: codekernel key set deepseek"
    if settings_file.exists():
        return (
            f"Add one to conversationSettings.generationModel in {settings_file}, such as"
            f" {_EXAMPLE_MODEL}; any OpenAI-compatible endpoint will do, or Ollama. {then}"
        )
    return (
        f"Write one into {settings_file}, such as {_EXAMPLE_SETTINGS}; any "
        "OpenAI-compatible endpoint"
        f" will do, or Ollama. {then}"
    )


def get_price(settings: Settings, model: str) -> Price | None:
    """What the settings say that a model costs."""
    for each in settings.generation_models:
        priced = each.input_price is not None or each.output_price is not None
        if model in {each.name, each.model_name} and priced:
            return Price(each.input_price or 0.0, each.output_price or 0.0)
    return None


if TYPE_CHECKING:  # costs a third of a second, and a search by words does not need it
    from codekernel.inference.model_pool import ModelPool


def load_settings_and_plan(file: Path) -> tuple[Settings, IndexPlan]:
    """The settings; nothing is deleted on the word of those that only stand in for a file."""
    if not file.exists():  # nobody has chosen anything
        settings = build_default_settings()
        return settings, build_index_plan(settings, is_certain=False)
    from codekernel.settings.loading import has_explicit_index_settings, load_settings_file  # noqa: PLC0415 - a search without settings is quick

    settings, warnings = load_settings_file(file)
    for warning in warnings:
        print_notice(warning)
    return settings, build_index_plan(settings, is_certain=has_explicit_index_settings(file))


@cache
def get_model_pool() -> "ModelPool":
    """The loaded models."""
    from codekernel.inference.model_pool import ModelPool  # noqa: PLC0415 - heavy

    return ModelPool()


@contextmanager
def open_selected_reranker(settings: Settings) -> Iterator[RerankFunction | None]:
    """The selected reranker; without one that can be used, says so."""
    models = {model.name: model.path for model in settings.local_models}
    selected = [config.model_name for config in settings.rerank_configs if config.is_selected]
    folders = [models[name] for name in selected if name in models]
    with ExitStack() as held:
        judge: RerankFunction | None = None
        if not folders:
            print_notice(
                "no reranker is selected in the settings; --accuracy only looks at more, and again"
            )
        else:
            try:
                reranker = held.enter_context(
                    get_model_pool().acquire_reranker(folders[0], settings.performance)
                )
                judge = lambda query, texts: reranker.score(query, texts, CancelToken())  # noqa: E731
            except InvalidModel as error:
                print_notice(f"the selected reranker is not used: {error}")
        yield judge
