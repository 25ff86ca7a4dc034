"""What the settings ask of an index: which cuts, which models; nothing of how."""

from dataclasses import dataclass, field
from pathlib import Path

from kernel.domain.settings import Performance, Settings

# Characters; used for words alone while no embedding config is selected.
DEFAULT_INPUT_LENGTH = 950


@dataclass(frozen=True, slots=True)
class ConfigPlan:
    """One selected embedding config."""

    name: str
    model: Path
    input_length: int


@dataclass(frozen=True, slots=True)
class IndexPlan:
    """Everything the index of any repository needs to know of the settings.

    ``certain`` is false while the settings are only a fallback for a file that cannot be read:
    nothing is deleted on the word of such settings.
    """

    configs: tuple[ConfigPlan, ...] = ()
    performance: Performance = field(default_factory=Performance)
    certain: bool = True

    @property
    def input_lengths(self) -> tuple[int, ...]:
        """The lengths to cut for, shortest first; never none, because words are always indexed."""
        lengths = {config.input_length for config in self.configs}
        return tuple(sorted(lengths)) or (DEFAULT_INPUT_LENGTH,)


def plan_of(settings: Settings, *, certain: bool) -> IndexPlan:
    """Pick the selected configs; those whose model is nowhere listed cannot be used."""
    models = {model.name: model.path for model in settings.local_models}
    return IndexPlan(
        configs=tuple(
            ConfigPlan(config.name, models[config.model_name], config.input_length)
            for config in settings.embedding_configs
            if config.selected and config.model_name in models
        ),
        performance=settings.performance,
        certain=certain,
    )
