"""Which vector indexes answer searches while the settings change: old ones until new are ready."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

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

    def _list_retiring(self) -> "list[VectorIndex]":
        return [index for index in self.searched if index not in self.current]

    def _assign_roles(
        self, retiring: "Sequence[VectorIndex]", selected: "Sequence[VectorIndex]"
    ) -> None:
        current = tuple(sorted(selected, key=lambda index: self._configs.index(index.config)))
        ready = [index for index in current if not retiring or index not in self.warming]
        for index in current:
            index.successors = ()
        for index in retiring:
            index.successors = self.warming
        self.searched = (*retiring, *ready)
        self.current = current
