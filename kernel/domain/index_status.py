"""How far the index of one repository is, as a person would ask."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class ConfigStatus:
    """How far one embedding config is; ``seconds_left`` is unknown until it has been running."""

    name: str
    ready: bool
    chunks: int
    waiting: int
    chunks_per_second: float | None
    seconds_left: float | None
    trouble: str = ""


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """Counts of what is indexed, what waits, and what stands in the way."""

    state: str
    files: int
    chunks: int
    files_waiting: int
    refused: dict[str, int]
    configs: tuple[ConfigStatus, ...] = field(default_factory=tuple)
    watching: str = ""
    trouble: str = ""
    paused: bool = False
