"""Chains of calls from one definition: step by step, to a depth, without going in circles."""

from collections.abc import Callable
from dataclasses import replace

from kernel.callgraph.edges import Calls, Edge, Edges
from kernel.callgraph.symbols import Certainty
from kernel.domain.call_chain import (
    NO_STEPS,
    Chain,
    ChainPlace,
    ChainQuestion,
    ChainStep,
    ChainSteps,
    Direction,
)
from kernel.storage.call_reader import Placed

# Of one question, in both directions; a deep chain is shown to its breadth, not to its end.
MOST_STEPS = 400
# Names that are called and lead nowhere, enough to see what a function is about.
MOST_OUTSIDE = 20
_SOURCE_OF_STEP = 500
_SOURCE_OF_SUBJECT = 4_000

SourceOf = Callable[[int, int, int], str]
Neighbours = Callable[[Placed], Edges]


class Chains:
    """Builds the answer to one question."""

    def __init__(self, calls: Calls, question: ChainQuestion, source: SourceOf) -> None:
        self._calls = calls
        self._question = question
        self._source = source
        self._left = MOST_STEPS

    def of(self, subject: Placed) -> Chain:
        """Everything that was asked about one definition."""
        asked, depth = self._question, self._question.depth
        callers = callees = None
        if asked.direction != Direction.CALLEES:
            callers = self._steps(subject, self._calls.callers, asked.most_callers, depth)
        if asked.direction != Direction.CALLERS:
            callees = self._steps(subject, self._calls.callees, asked.most_callees, depth)
        return Chain(self._place(subject, _SOURCE_OF_SUBJECT), callers, callees)

    def _steps(self, subject: Placed, neighbours: Neighbours, most: int, depth: int) -> ChainSteps:
        """Breadth first, so that what is near is there whatever the depth."""
        children: dict[tuple[int, int], tuple[list[Edge], ChainSteps]] = {}
        seen, layer = {subject.key}, [subject]
        for _ in range(depth):
            following: list[Placed] = []
            for one in layer:
                edges, about = self._limited(neighbours(one), most)
                children[one.key] = (edges, about)
                for edge in edges:
                    certain = edge.certainty > Certainty.POSSIBLE
                    if edge.placed and certain and edge.key not in seen:
                        seen.add(edge.key)
                        following.append(edge.placed)
            layer = following
        return self._tree(subject.key, children, set())

    def _limited(self, edges: Edges, most: int) -> tuple[list[Edge], ChainSteps]:
        shown = edges.edges[: min(most, self._left)]
        self._left -= len(shown)
        outside = tuple(edges.outside[:MOST_OUTSIDE])
        return shown, ChainSteps((), len(edges.edges) - len(shown), edges.unread, outside)

    def _tree(
        self,
        key: tuple[int, int],
        children: dict[tuple[int, int], tuple[list[Edge], ChainSteps]],
        shown: set[tuple[int, int]],
    ) -> ChainSteps:
        if key not in children:
            return NO_STEPS
        shown.add(key)
        edges, about = children[key]
        steps = []
        for edge in edges:
            again = edge.key in shown
            following = NO_STEPS if again else self._tree(edge.key, children, shown)
            steps.append(self._step(edge, following, again=again))
        return replace(about, steps=tuple(steps))

    def _step(self, edge: Edge, following: ChainSteps, *, again: bool) -> ChainStep:
        lines = tuple(sorted({line + 1 for line in edge.lines}))
        if edge.placed:
            place = self._place(edge.placed, _SOURCE_OF_STEP)
        else:
            place = ChainPlace(edge.path, "file", edge.path, lines[0], lines[-1])
        return ChainStep(place, edge.certainty.name.lower(), lines, following, again)

    def _place(self, placed: Placed, most: int) -> ChainPlace:
        one = placed.one
        source = ""
        if self._question.with_source:
            source = self._source(placed.file, one.first, one.last)
            source = source if len(source) <= most else f"{source[:most]}\n..."
        return ChainPlace(one.qualified, one.kind, placed.path, one.first + 1, one.last + 1, source)
