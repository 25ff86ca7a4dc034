"""What the settings ask of an index (IndexPlan).

The vector index of each embedding config (VectorIndex, implemented in model_vector_index.py,
which is heavy to import), and which of them answer searches while the settings change
(ModelSwap): the old ones until the new have caught up.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from codekernel.domain.concurrency import CancelToken
from codekernel.domain.index import EmbeddingConfigStatus
from codekernel.domain.settings import Performance, Settings

# Characters; used for words alone while no embedding config is selected.
DEFAULT_MAX_CHUNK_CHARS = 950


@dataclass(frozen=True, slots=True)
class ConfigPlan:
    """One selected embedding config."""

    name: str
    model: Path
    max_chunk_chars: int


@dataclass(frozen=True, slots=True)
class IndexPlan:
    """Everything the index of any repository needs to know of the settings.

    ``certain`` is false while the settings are only a fallback for a file that cannot be read:
    nothing is deleted on the word of such settings.
    """

    configs: tuple[ConfigPlan, ...] = ()
    performance: Performance = field(default_factory=Performance)
    is_certain: bool = True

    @property
    def chunk_sizes(self) -> tuple[int, ...]:
        """The lengths to cut for, shortest first; never none, because words are always indexed."""
        lengths = {config.max_chunk_chars for config in self.configs}
        return tuple(sorted(lengths)) or (DEFAULT_MAX_CHUNK_CHARS,)


def build_index_plan(settings: Settings, *, is_certain: bool) -> IndexPlan:
    """Pick the selected configs; those whose model is nowhere listed cannot be used."""
    models = {model.name: model.path for model in settings.local_models}
    return IndexPlan(
        configs=tuple(
            ConfigPlan(config.name, models[config.model_name], config.max_chunk_chars)
            for config in settings.embedding_configs
            if config.is_selected and config.model_name in models
        ),
        performance=settings.performance,
        is_certain=is_certain,
    )


@dataclass(frozen=True, slots=True)
class EmbedStep:
    """What one group of texts achieved: files that are done, and how far the next one is."""

    finished_files: tuple[int, ...]
    partial_file: tuple[int, float] | None = None


class VectorIndex(Protocol):
    """One config's model and vectors."""

    config: ConfigPlan
    performance: Performance
    folder_name: str
    # Those that take its place, while it answers searches only until they have caught up.
    successors: "tuple[VectorIndex, ...]"

    @property
    def has_pending_files(self) -> bool:
        """Whether a file still needs vectors."""

    def enqueue_files(self, file_ids: Iterable[int]) -> None:
        """Files whose texts may need vectors."""

    def reopen(self) -> None:
        """Open the vectors anew, because they are damaged; those that are whole stay."""

    def enqueue_missing(self) -> list[int]:
        """Find and queue the files that lack vectors."""

    def embed_batch(self, cancel: CancelToken) -> EmbedStep:
        """Embed the next group of texts."""

    def search(self, query: str, k: int) -> list[tuple[int, float]]:
        """Keys of the nearest texts and their similarity, best first; none once it is closed."""

    def compute_similarities(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """The cosines of a query and short texts; nothing if the model is not quick enough."""

    def is_missing(self, text_hash: int, max_chunk_chars: int) -> bool:
        """Whether a text of that cut is still to be embedded; other cuts are not this config's."""

    def compact(self) -> bool:
        """Drop and join what need not be there."""

    def get_status(self, chunks: int, files: int) -> EmbeddingConfigStatus:
        """How far this config is."""

    def close(self) -> None:
        """Let the model and the vectors go; searches under way end first."""


OpenVectorIndex = Callable[[ConfigPlan, Performance], VectorIndex]


class ModelSwap:
    """Changed by the embedding thread alone; ``working`` and ``searched`` are read by any."""

    def __init__(self) -> None:
        self.current: tuple[VectorIndex, ...] = ()  # the configs of the settings, in their order
        self.searched: tuple[VectorIndex, ...] = ()
        self.warming: tuple[
            VectorIndex, ...
        ] = ()  # those of ``working`` that have not caught up so far

    @property
    def chunk_sizes(self) -> set[int]:
        """The cuts that searches and vectors still need."""
        return {arm.config.max_chunk_chars for arm in (*self.searched, *self.current)}

    def start_swap(self, plan: IndexPlan) -> tuple[list[VectorIndex], list[VectorIndex]]:
        """Take other settings: the arms that are to work again, and those that can be closed.

        An arm that is no longer selected goes on answering if others are to take its place.
        """
        everybody = list(dict.fromkeys((*self.searched, *self.current)))
        staying = [arm for arm in everybody if _is_selected(arm, plan)]
        returning = [arm for arm in staying if arm not in self.current]
        self.warming = tuple(arm for arm in self.warming if arm in staying)
        has_heirs = bool(self.warming) or {arm.config for arm in staying} != set(plan.configs)
        leaving = [
            arm
            for arm in self.searched
            if arm not in staying and has_heirs and arm.get_status(chunks=0, files=0).chunks
        ]
        self._assign_roles(leaving, _sort_by_config(staying, plan.configs))
        return returning, [arm for arm in everybody if arm not in (*staying, *leaving)]

    def add_warming(self, vector_index: VectorIndex, plan: IndexPlan) -> None:
        """An arm has been opened, and has yet to catch up."""
        self.warming = (*self.warming, vector_index)
        self._assign_roles(
            self._list_retiring(), _sort_by_config((*self.current, vector_index), plan.configs)
        )

    def finish_swap(self) -> list[VectorIndex]:
        """The new arms have caught up, and are searched; those that can be closed now."""
        leaving = self._list_retiring()
        self.warming = ()
        self._assign_roles([], self.current)
        return leaving

    def remove_all(self) -> list[VectorIndex]:
        """Nobody is searched any more; all that can be closed."""
        everybody = list(dict.fromkeys((*self.searched, *self.current)))
        self.searched = self.current = self.warming = ()
        return everybody

    def _list_retiring(self) -> list[VectorIndex]:
        return [arm for arm in self.searched if arm not in self.current]

    def _assign_roles(
        self, retiring: Sequence[VectorIndex], current: tuple[VectorIndex, ...]
    ) -> None:
        ready = [arm for arm in current if not retiring or arm not in self.warming]
        for arm in current:
            arm.successors = ()
        for arm in retiring:
            arm.successors = self.warming
        self.searched = (*retiring, *ready)
        self.current = current


def _is_selected(vector_index: VectorIndex, plan: IndexPlan) -> bool:
    return vector_index.config in plan.configs and vector_index.performance == plan.performance


def _sort_by_config(
    vector_indexes: Sequence[VectorIndex], configs: Sequence[ConfigPlan]
) -> tuple[VectorIndex, ...]:
    return tuple(sorted(vector_indexes, key=lambda arm: configs.index(arm.config)))
