"""What the others know of an embedding config at work; ``vector_arm.py`` is heavy to import."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from kernel.domain.cancel import CancelToken
from kernel.domain.index_status import ConfigStatus
from kernel.domain.settings import Performance
from kernel.indexing.plan import ConfigPlan


@dataclass(frozen=True, slots=True)
class Step:
    """What one group of texts achieved: files that are done, and how far the next one is."""

    finished: tuple[int, ...]
    partly: tuple[int, float] | None = None


class Arm(Protocol):
    """One config's model and vectors."""

    config: ConfigPlan
    performance: Performance
    folder_name: str
    # Those that take its place, while it answers searches only until they have caught up.
    heirs: "tuple[Arm, ...]"

    @property
    def waits(self) -> bool:
        """Whether a file still needs vectors."""

    def push(self, file_ids: Iterable[int]) -> None:
        """Files whose texts may need vectors."""

    def reopen(self) -> None:
        """Open the vectors anew, because they are damaged; those that are whole stay."""

    def catch_up(self) -> list[int]:
        """Find and queue the files that lack vectors."""

    def step(self, cancel: CancelToken) -> Step:
        """Embed the next group of texts."""

    def search(self, query: str, k: int) -> list[tuple[int, float]]:
        """Keys of the nearest texts and their similarity, best first; none once it is closed."""

    def likeness(self, query: str, texts: Sequence[str]) -> Sequence[float]:
        """The cosines of a query and short texts; nothing if the model is not quick enough."""

    def lacks(self, key: int, input_length: int) -> bool:
        """Whether a text of that cut is still to be embedded; other cuts are not this config's."""

    def tidy(self) -> bool:
        """Drop and join what need not be there."""

    def status(self, chunks: int, files: int) -> ConfigStatus:
        """How far this config is."""

    def close(self) -> None:
        """Let the model and the vectors go; searches under way end first."""


OpenArm = Callable[[ConfigPlan, Performance], Arm]
