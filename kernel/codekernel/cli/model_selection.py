"""Read the settings for a command: index plan, price, reranker, pool of loaded models."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from codekernel.cli.output.terminal import print_notice
from codekernel.domain.concurrency import CancelToken
from codekernel.domain.settings import Settings
from codekernel.domain.turn import Price
from codekernel.errors import InvalidModel
from codekernel.indexing.index_plan import IndexPlan, build_index_plan
from codekernel.search.pipeline import RerankFunction
from codekernel.settings.local_models import build_default_settings

if TYPE_CHECKING:  # costs a third of a second, and a search by words does not need it
    from codekernel.inference.model_pool import ModelPool


def get_price(settings: Settings, model: str) -> Price | None:
    """Return the price of a model, if the settings have one."""
    for each in settings.generation_models:
        priced = each.input_price is not None or each.output_price is not None
        if model in {each.name, each.model_name} and priced:
            return Price(each.input_price or 0.0, each.output_price or 0.0)
    return None


def load_settings_and_plan(file: Path) -> tuple[Settings, IndexPlan]:
    """Load the settings and their index plan.

    A plan of defaults is not certain, so no vectors are deleted because of it.
    """
    if not file.exists():
        settings = build_default_settings()
        return settings, build_index_plan(settings, is_certain=False)
    from codekernel.settings.loading import has_explicit_index_settings, load_settings_file  # noqa: PLC0415 - a search without settings is quick

    settings, warnings = load_settings_file(file)
    for warning in warnings:
        print_notice(warning)
    return settings, build_index_plan(settings, is_certain=has_explicit_index_settings(file))


@cache
def get_model_pool() -> "ModelPool":
    """Return the process's pool of loaded models."""
    from codekernel.inference.model_pool import ModelPool  # noqa: PLC0415 - heavy

    return ModelPool()


@contextmanager
def acquire_selected_reranker(settings: Settings) -> Iterator[RerankFunction | None]:
    """Open the selected reranker; None if no installed one is selected. Raises InvalidModel."""
    models = {model.name: model.path for model in settings.local_models}
    selected = [config.model_name for config in settings.rerank_configs if config.is_selected]
    folders = [models[name] for name in selected if name in models]
    if not folders:
        yield None
        return
    with get_model_pool().acquire_reranker(folders[0], settings.performance) as reranker:
        yield lambda query, texts: reranker.score(query, texts, CancelToken())


@contextmanager
def open_selected_reranker(
    settings: Settings, *, is_requested: bool = False
) -> Iterator[RerankFunction | None]:
    """Open the selected reranker; print a notice and yield None if it cannot be used.

    Where none is selected, the notice is printed only if it ``is_requested``.
    """
    is_requested |= any(config.is_selected for config in settings.rerank_configs)
    with ExitStack() as resources:
        reranker: RerankFunction | None = None
        try:
            reranker = resources.enter_context(acquire_selected_reranker(settings))
        except InvalidModel as error:
            print_notice(f"the selected reranker is not used: {error}")
        else:
            if is_requested and reranker is None:
                print_notice(
                    "no reranker is selected in the settings;"
                    " --accuracy only looks at more, and again"
                )
        yield reranker
