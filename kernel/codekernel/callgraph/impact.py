"""What a change of definitions reaches: their callers by distance, and the tests among them."""

from collections.abc import Callable, Iterable
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
class ChangeImpact:
    """Sorted by distance, then by place; ``left_out`` callers were not followed."""

    changed: tuple[CallChainNode, ...]
    callers: tuple[ReachedDefinition, ...]
    tests: tuple[ReachedDefinition, ...]
    left_out: int = 0
    behind: int = 0  # files that have not been read yet


def compute_impact(
    answers: Iterable[CallChainResult], is_test: Callable[[str], bool]
) -> ChangeImpact:
    """Join the callers of all definitions that change."""
    reached: dict[tuple[str, int, str], ReachedDefinition] = {}
    changed: list[CallChainNode] = []
    left_out = behind = 0

    def walk(steps: CallChainSteps, distance: int) -> int:
        missing = steps.more + steps.unread
        for step in steps.steps:
            place = step.place
            key = place.path, place.first_line, place.name
            known = reached.get(key)
            if known is None or known.distance > distance:
                reached[key] = ReachedDefinition(place, distance, step.certainty)
            missing += walk(step.next, distance + 1)
        return missing

    for answer in answers:
        behind = max(behind, answer.behind)
        left_out += answer.more
        for chain in answer.chains:
            changed.append(chain.place)
            left_out += walk(chain.callers, 1) if chain.callers else 0
    own = {(place.path, place.first_line, place.name) for place in changed}
    found = sorted(
        (each for key, each in reached.items() if key not in own),
        key=lambda each: (each.distance, each.place.path, each.place.first_line),
    )
    tests = tuple(each for each in found if is_test(each.place.path))
    callers = tuple(each for each in found if not is_test(each.place.path))
    return ChangeImpact(tuple(changed), callers, tests, left_out, behind)
