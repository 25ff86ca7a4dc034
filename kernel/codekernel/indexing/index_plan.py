"""What the settings ask of an index (IndexPlan), and how long its threads wait (IndexTimings)."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from codekernel.domain.settings import (
    EmbeddingConfig,
    ModelSource,
    Performance,
    RemoteModel,
    Settings,
)

if TYPE_CHECKING:  # heavy
    from collections.abc import Callable

    from codekernel.indexing.known_vectors import GetTeamVectors
    from codekernel.inference.model_pool import ModelPool
    from codekernel.remote.remote_models import RemoteModels

# Characters; for the lexical index while no embedding config is selected.
DEFAULT_MAX_CHUNK_CHARS = 950


class BatchSizes(NamedTuple):
    """How many texts are embedded at once: at first, and within which limits later."""

    initial: int = 128
    smallest: int = 32
    largest: int = 4096
    # Texts are embedded in batches of as many as take about this long, so that a slow model gets
    # few at once and a fast one is not held up by commits.
    target_seconds: float = 0.4


DEFAULT_BATCH_SIZES = BatchSizes()

# Between two batches a remote model waits for the next requests: the longer, the less it stands.
REMOTE_TARGET_SECONDS = 4.0


@dataclass(frozen=True, slots=True)
class ConfigPlan:
    """One selected embedding config."""

    name: str
    model: ModelSource
    max_chunk_chars: int
    batch_sizes: BatchSizes = DEFAULT_BATCH_SIZES
    # Answers while the remote models of the plan are away or incomplete.
    is_standby: bool = False


@dataclass(frozen=True, slots=True)
class IndexPlan:
    """Everything the index of any repository needs to know of the settings.

    ``is_certain`` is false while the settings are only a fallback for a file that cannot be read:
    nothing is deleted because of such settings.
    """

    configs: tuple[ConfigPlan, ...] = ()
    performance: Performance = field(default_factory=Performance)
    is_certain: bool = True

    @property
    def chunk_sizes(self) -> tuple[int, ...]:
        """The chunk sizes, smallest first; never none, for the lexical index needs chunks too."""
        sizes = {config.max_chunk_chars for config in self.configs}
        return tuple(sorted(sizes)) or (DEFAULT_MAX_CHUNK_CHARS,)


def build_index_plan(settings: Settings, *, is_certain: bool) -> IndexPlan:
    """Pick the selected configs; those whose model is not in the list of models are left out.

    If all of them are remote, a model on this machine stands by.
    """
    models = {model.name: model.source for model in settings.local_models}
    configs = [
        _plan_config(config, models[config.model_name])
        for config in settings.embedding_configs
        if config.is_selected and config.model_name in models
    ]
    standby = settings.standby_model
    if standby and configs and all(isinstance(it.model, RemoteModel) for it in configs):
        name = f"{configs[0].name} (on this machine)"
        configs.append(ConfigPlan(name, standby, configs[0].max_chunk_chars, is_standby=True))
    return IndexPlan(tuple(configs), settings.performance, is_certain)


def _plan_config(config: EmbeddingConfig, model: ModelSource) -> ConfigPlan:
    if not isinstance(model, RemoteModel):
        return ConfigPlan(config.name, model, config.max_chunk_chars)
    in_flight = model.batch_size * model.concurrency
    sizes = BatchSizes(in_flight, in_flight, max(in_flight, 4096), REMOTE_TARGET_SECONDS)
    return ConfigPlan(config.name, model, config.max_chunk_chars, sizes)


class ModelSources(NamedTuple):
    """Where an index gets its models from, and vectors of its team; opened when needed."""

    get_model_pool: "Callable[[], ModelPool]"
    get_team_vectors: "GetTeamVectors"
    get_remote_models: "Callable[[], RemoteModels] | None"


@dataclass(frozen=True, slots=True)
class IndexTimings:
    """Waits and retries of the threads of one index, in seconds; tests shorten them."""

    # The first question comes soon after a repository is opened again. What follows the files takes
    # 0.1 s of the same interpreter to import, and what the vectors need takes seconds: both begin
    # after this.
    index_start_delay: float = 0.2
    embed_start_delay: float = 0.3
    # Files are compared before models are opened, if it does not take too long: at the same time, a
    # million chunks were compared in eight seconds, and before it in two.
    max_scan_wait: float = 5.0
    # A walk that takes longer announces the new files it has found so far.
    announce_interval: float = 0.5
    # Files are committed soon at first, so that the first ones are found at once, then seldom,
    # because a commit costs the same whatever it holds.
    first_batch: float = 0.1
    max_batch: float = 4.0
    # When watching has begun, everything is compared, for something may have changed before. An
    # index with content waits this long for that, and is not compared twice.
    max_watch_wait: float = 3.0
    # A save is searched in memory, and committed after so long without another one: before that,
    # the next save would wait for the disk.
    flush_delay: float = 0.5
    # After this long without work the store is compacted.
    compact_delay: float = 2.0
    # How often the files of an idle index are looked at where the system does not report changes
    # of them, and how often all of it is compared with its checksums: a disk's error is found the
    # same day.
    check_interval: float = 10.0
    verify_interval: float = 3600.0
    # A full disk or a missing folder is looked at again after ``min_backoff``, or when something
    # changes; room is often made at once. Each time after twice as long.
    min_backoff: float = 1.0
    max_backoff: float = 10.0
    # A search that meets an error waits this long for the index to be compared with its checksums,
    # and if it is damaged, for another one. That takes 50 ms, among it a dozen flushes: seconds on
    # a disk that others write to without pause.
    max_verification_wait: float = 5.0
    max_replacement_wait: float = 60.0
    # How often a battery, or a disk too full for vectors, is looked at again.
    embed_retry: float = 30.0
    # How often an index that another process writes is tried; it costs the opening of a file.
    writer_retry: float = 1.0
    # An index that is damaged ``max_rebuilds`` times in a row is left alone for this long.
    faulty_disk_wait: float = 60.0
    max_rebuilds: int = 3


DEFAULT_TIMINGS = IndexTimings()
