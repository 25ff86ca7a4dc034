"""What the settings ask of a search: how to index, which models, which reranker."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from kernel.cli.search_streams import say
from kernel.domain.cancel import CancelToken
from kernel.domain.settings import Settings
from kernel.errors import InvalidModel
from kernel.indexing.plan import IndexPlan, plan_of
from kernel.search.searcher import Judge
from kernel.settings.box import default_settings

if TYPE_CHECKING:  # costs a third of a second, and a search by words does not need it
    from kernel.inference.shelf import Shelf


def settings_and_plan(file: Path) -> tuple[Settings, IndexPlan]:
    """The settings; nothing is deleted on the word of those that only stand in for a file."""
    if not file.exists():  # nobody has chosen anything
        settings = default_settings()
        return settings, plan_of(settings, certain=False)
    from kernel.settings.reading import (  # noqa: PLC0415 - a search without settings is quick
        is_sure_of_index,
        load,
    )

    settings, warnings = load(file)
    for warning in warnings:
        say(warning)
    return settings, plan_of(settings, certain=is_sure_of_index(file))


@cache
def shelf() -> "Shelf":
    """The loaded models."""
    from kernel.inference.shelf import Shelf  # noqa: PLC0415 - heavy

    return Shelf()


@contextmanager
def selected_judge(settings: Settings) -> Iterator[Judge | None]:
    """The selected reranker; without one that can be used, says so."""
    models = {model.name: model.path for model in settings.local_models}
    selected = [config.model_name for config in settings.rerank_configs if config.selected]
    folders = [models[name] for name in selected if name in models]
    with ExitStack() as held:
        judge: Judge | None = None
        if not folders:
            say("no reranker is selected in the settings; --accuracy only looks at more, and again")
        else:
            try:
                reranker = held.enter_context(shelf().reranker(folders[0], settings.performance))
                judge = lambda query, texts: reranker.score(query, texts, CancelToken())  # noqa: E731
            except InvalidModel as error:
                say(f"the selected reranker is not used: {error}")
        yield judge
