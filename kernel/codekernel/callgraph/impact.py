"""What a change of definitions reaches: their callers by distance, each by the shortest way."""

from collections.abc import Sequence
from dataclasses import dataclass

from codekernel.domain.call_graph import CallChainNode, CallChainResult, CallChainSteps

# What no call graph sees, so that an empty answer is no promise.
UNSEEN = "dynamic dispatch, reflection, names in strings and configuration, other repositories"


@dataclass(frozen=True, slots=True)
class ReachedDefinition:
    """A definition that calls what changes, so many calls away; the shortest way counts."""

    place: CallChainNode
    distance: int
    certainty: str


@dataclass(frozen=True, slots=True)
class ReachedCallers:
    """Sorted by distance, then by place; ``left_out`` callers were not followed."""

    changed: tuple[CallChainNode, ...]
    callers: tuple[ReachedDefinition, ...]
    left_out: int = 0
    behind: int = 0  # files that have not been read yet


def join_callers(
    changed: Sequence[CallChainResult], users: Sequence[CallChainResult] = ()
) -> ReachedCallers:
    """Join the callers of all definitions that change, and of those that use what changes."""
    joined = _JoinedCallers()
    places = tuple(chain.place for answer in changed for chain in answer.chains)
    behind = left_out = 0
    for distance, answers in enumerate((changed, users)):
        for answer in answers:
            behind = max(behind, answer.behind)
            left_out += answer.more
            for chain in answer.chains:
                joined.reach(chain.place, distance, "certain")
                left_out += joined.walk(chain.callers, distance + 1) if chain.callers else 0
    own = set(map(_identify, places))
    found = sorted(
        (each for key, each in joined.by_place.items() if key not in own),
        key=lambda each: (each.distance, each.place.path, each.place.first_line),
    )
    return ReachedCallers(places, tuple(found), left_out, behind)


def _identify(place: CallChainNode) -> tuple[str, int, str]:
    return place.path, place.first_line, place.name


class _JoinedCallers:
    def __init__(self) -> None:
        self.by_place: dict[tuple[str, int, str], ReachedDefinition] = {}

    def reach(self, place: CallChainNode, distance: int, certainty: str) -> None:
        """Keep the shortest way."""
        known = self.by_place.get(_identify(place))
        if known is None or known.distance > distance:
            self.by_place[_identify(place)] = ReachedDefinition(place, distance, certainty)

    def walk(self, steps: CallChainSteps, distance: int) -> int:
        """Reach all callers; return how many were not followed."""
        missing = steps.more + steps.unread
        for step in steps.steps:
            self.reach(step.place, distance, step.certainty)
            missing += self.walk(step.next, distance + 1)
        return missing
