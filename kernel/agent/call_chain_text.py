"""A chain of calls as Markdown for a model, and as plain data for programs."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from kernel.domain.call_chain import Chain, ChainAnswer, ChainPlace, ChainStep, ChainSteps


def shown(answer: ChainAnswer) -> str:
    """The whole answer; same-named definitions follow each other."""
    asked = answer.question
    lines = [
        f"## Call chain: {asked.method}",
        "",
        f"**Direction**: {asked.direction}",
        f"**Depth**: {asked.depth}",
        f"**Definitions**: {len(answer.chains) + answer.more}",
    ]
    if answer.behind:
        lines += ["", _behind(answer.behind)]
    for chain in answer.chains:
        lines += ["", *_chain(chain)]
    if answer.more:
        lines += [
            "",
            f"{answer.more} more definitions of this name: ask with ClassName.methodName.",
        ]
    return "\n".join(lines)


def nothing_found(answer: ChainAnswer) -> str:
    """Why there is no chain, and what to do."""
    said = f"No definition of {answer.question.method} in the index."
    if answer.calling_files:
        said += (
            f" {answer.calling_files} files call something of this name, so it is likely from a"
            " library."
        )
    else:
        said += " Names are matched exactly: check the spelling, or ask with the bare method name."
    return f"{said} {_behind(answer.behind)}" if answer.behind else said


def described(answer: ChainAnswer) -> dict[str, Any]:
    """The same as data."""
    return asdict(answer)


def _chain(chain: Chain) -> Iterator[str]:
    yield f"### {chain.place.name} ({_where(chain.place)})"
    yield from _source(chain.place, "")
    for title, steps in (("Callers", chain.callers), ("Callees", chain.callees)):
        if steps is None:
            continue
        yield ""
        yield f"**{title}** ({len(steps.steps) + steps.more}):"
        yield from _steps(steps, "") if steps.steps else ("- none found",)
        if steps.outside:
            names = ", ".join(steps.outside)
            yield f"- calls that leave the repository, or cannot be told: {names}"


def _steps(steps: ChainSteps, indent: str) -> Iterator[str]:
    for step in steps.steps:
        yield f"{indent}- {_step(step)}"
        yield from _source(step.place, f"{indent}  ")
        yield from _steps(step.next, f"{indent}  ")
    if steps.more:
        yield f"{indent}- {steps.more} more"
    if steps.unread:
        yield f"{indent}- {steps.unread} more files call this name and were not looked at"


def _step(step: ChainStep) -> str:
    many = "lines" if len(step.lines) > 1 else "line"
    called = f"call at {many} {', '.join(map(str, step.lines))}"
    again = "; see above" if step.again else ""
    return f"{step.place.name} ({_where(step.place)}) [{step.certainty}] {called}{again}"


def _where(place: ChainPlace) -> str:
    if place.kind == "file":
        return "code of the file, in no definition"
    return f"{place.kind}, {place.path}:{place.first_line}-{place.last_line}"


def _source(place: ChainPlace, indent: str) -> Iterator[str]:
    if place.source:
        yield f"{indent}```"
        yield from (f"{indent}{line}".rstrip() for line in place.source.split("\n"))
        yield f"{indent}```"


def _behind(files: int) -> str:
    return f"{files} files are still being read: ask again in a moment for all of their calls."
