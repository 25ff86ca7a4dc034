"""Which vector indexes answer searches while the settings change: old ones until new are ready."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from codekernel.domain.index import EndpointAsk
from codekernel.indexing.index_plan import ConfigPlan, IndexPlan

if TYPE_CHECKING:  # heavy: numpy and the inference runtime
    from codekernel.indexing.vector_index import VectorIndex


class ModelSwap:
    """Changed by the embed thread alone; ``current`` and ``searched`` are read by any thread."""

    def __init__(self) -> None:
        self.current: tuple[VectorIndex, ...] = ()  # those of the settings, in their order
        self.searched: tuple[VectorIndex, ...] = ()
        self.warming: tuple[VectorIndex, ...] = ()  # those of ``current`` that still lack vectors
        self._configs: tuple[ConfigPlan, ...] = ()

    @property
    def chunk_sizes(self) -> set[int]:
        """The chunk sizes that are searched or embedded."""
        return {index.config.max_chunk_chars for index in (*self.searched, *self.current)}

    def start_swap(self, plan: IndexPlan) -> "tuple[list[VectorIndex], list[VectorIndex]]":
        """Take other settings; returns the indexes selected again and those that can be closed.

        An index that is no longer selected answers searches until its successors are ready.
        """
        self._configs = plan.configs
        known = list(dict.fromkeys((*self.searched, *self.current)))
        staying = [
            index
            for index in known
            if index.config in plan.configs and index.performance == plan.performance
        ]
        returning = [index for index in staying if index not in self.current]
        self.warming = tuple(index for index in self.warming if index in staying)
        has_successors = bool(self.warming) or len(staying) < len(set(plan.configs))
        retiring = [
            index
            for index in self.searched
            if index not in staying and has_successors and index.get_status(0, 0).chunks
        ]
        self._assign_roles(retiring, staying)
        return returning, [index for index in known if index not in (*staying, *retiring)]

    def add_warming(self, vector_index: "VectorIndex") -> None:
        """Add an index that has been opened and may lack vectors."""
        self.warming = (*self.warming, vector_index)
        self._assign_roles(self._list_retiring(), (*self.current, vector_index))

    def finish_swap(self) -> "list[VectorIndex]":
        """Search the new indexes, which are complete; returns those that can be closed."""
        retiring = self._list_retiring()
        self.warming = ()
        self._assign_roles([], self.current)
        return retiring

    def remove_all(self) -> "list[VectorIndex]":
        """Search nothing any more; returns all that can be closed."""
        known = list(dict.fromkeys((*self.searched, *self.current)))
        self.searched = self.current = self.warming = ()
        return known

    @property
    def has_embeddable_files(self) -> bool:
        """Whether a file needs vectors that can be made now."""
        return any(index.can_embed for index in self.current)

    @property
    def waits_for_endpoints(self) -> bool:
        """Whether nothing but remote models lacks vectors, and those can do nothing now."""
        pending = [index for index in self.warming if index.has_pending_files]
        return bool(pending) and not any(index.can_embed for index in pending)

    def choose_to_embed(self) -> "VectorIndex":
        """Return what embeds next: what stands by answers while the others are being made."""
        ready = [index for index in self.current if index.can_embed]
        return next((index for index in ready if index.config.is_standby), ready[0])

    def list_retry_times(self) -> list[float | None]:
        """Return when endpoints that are away are tried again, by the monotonic clock."""
        return [index.remote.retry_at for index in self.current if index.remote]

    def list_outdated(self) -> "list[VectorIndex]":
        """Return the indexes whose endpoint serves another model now."""
        return [index for index in self.current if index.remote and index.remote.is_outdated]

    def list_asks(self) -> tuple[EndpointAsk, ...]:
        """Return what remote models would be sent, if somebody allows it."""
        remote = [(index, index.remote) for index in self.current if index.remote]
        asks = (each.describe_ask(index.count_missing) for index, each in remote)
        return tuple(ask for ask in asks if ask)

    def answer_ask(self, model: str, *, allowed: bool) -> bool:
        """Keep whether a remote model may be sent the repository; false if it is not in use.

        Raises StorageError.
        """
        remote = (index.remote for index in self.current)
        asked = [each for each in remote if each and each.embedder.model.name == model]
        for each in asked:
            each.answer(allowed=allowed)
        return bool(asked)

    def _list_retiring(self) -> "list[VectorIndex]":
        return [index for index in self.searched if index not in self.current]

    def _assign_roles(
        self, retiring: "Sequence[VectorIndex]", selected: "Sequence[VectorIndex]"
    ) -> None:
        current = tuple(sorted(selected, key=lambda index: self._configs.index(index.config)))
        ready = [index for index in current if not retiring or index not in self.warming]
        standby = next((index for index in current if index.config.is_standby), None)
        others = [index for index in ready if index is not standby]
        is_covered = bool(others) and all(index not in self.warming for index in others)
        for index in current:
            index.successors = ()
            index.standby = standby if index is not standby else None
        for index in retiring:
            index.successors = self.warming
        self.searched = (*retiring, *(others if is_covered else ready))
        self.current = current

    def discard(self, vector_index: "VectorIndex") -> None:
        """Forget an index that can be neither searched nor filled any more."""
        self.warming = tuple(index for index in self.warming if index is not vector_index)
        retiring = [index for index in self._list_retiring() if index is not vector_index]
        selected = [index for index in self.current if index is not vector_index]
        self._assign_roles(retiring, selected)
