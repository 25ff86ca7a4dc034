"""How far our calls agree with those of a compiler or an inference engine, call by call.

Of each project some hundred calls are drawn at random. For each the reference says what is called:
definitions inside the project, something outside of it, or that it does not know; the last are left
out. *Recall*: of the calls that lead inside, those for which we name the same definition.
*Precision*: of the calls for which we name something, those for which the reference names one of
the same. *Sure* leaves out what we call only possible.
"""

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from callchain_index import Indexed, indexed
from callchain_references import References
from codekernel.callgraph.call_resolver import CallResolver
from codekernel.callgraph.symbol_table import Certainty, ResolvedTarget
from codekernel.storage.catalog.call_store import FileCalls

HEAD = (
    "| project | language | reference | calls | inside | recall | sure recall | precision"
    " | sure precision |\n|---|---|---|---|---|---|---|---|---|"
)
# A definition may begin with a type, a template or a modifier in the lines before its name.
LINES_BEFORE_NAME = 4


@dataclass(frozen=True, slots=True)
class Project:
    """A project, and the part of it whose calls are drawn."""

    name: str
    below: str
    language: str
    reference: str


PROJECTS = (
    Project("requests", "src", "Python", "jedi"),
    Project("fastapi", "fastapi", "Python", "jedi"),
    Project("aiohttp", "aiohttp", "Python", "jedi"),
    Project("pydantic", "pydantic", "Python", "jedi"),
    Project("axios", "lib", "JavaScript", "typescript"),
    Project("trpc", "packages", "TypeScript", "typescript"),
    Project("vitest", "packages", "TypeScript", "typescript"),
    Project("gson", "gson/src/main", "Java", "javac"),
    Project("jackson-databind", "src/main", "Java", "javac"),
    Project("cobra", ".", "Go", "go/types"),
    Project("gin", ".", "Go", "go/types"),
    Project("curl", "lib", "C", "libclang"),
    Project("abseil-cpp", "absl", "C++", "libclang"),
)


@dataclass(slots=True)
class Tally:
    """What was counted of one project."""

    calls: int = 0
    inside: int = 0
    found: int = 0
    found_surely: int = 0
    named: int = 0
    right: int = 0
    sure: int = 0
    surely_right: int = 0
    misses: list[str] = field(default_factory=list)

    def row(self, project: Project) -> str:
        """A line of the table."""
        shares = (
            _share(self.found, self.inside),
            _share(self.found_surely, self.inside),
            _share(self.right, self.named),
            _share(self.surely_right, self.sure),
        )
        about = f"{project.name} | {project.language} | {project.reference}"
        return f"| {about} | {self.calls} | {self.inside} | {' | '.join(shares)} |"


def agreement(repos: Path, only: str, count: int, seed: int, *, misses: bool) -> None:
    """Print the table."""
    print(HEAD, flush=True)
    references = References()
    for project in PROJECTS:
        root = repos / project.name
        if (only and only not in {project.name, project.language, project.reference}) or not (
            root.is_dir()
        ):
            continue
        command = references.command(project.reference, root, project.below, count, seed)
        if command is None:
            print(f"| {project.name} | {project.language} | {references.why} |", flush=True)
            continue
        with indexed(root) as index:
            tally = _tally(index, command)
        print(tally.row(project), flush=True)
        if misses:
            print("\n".join(tally.misses))


def _tally(index: Indexed, command: list[str]) -> Tally:
    tally = Tally()
    memory = index.graph.cache
    memory.evict_if_changed()
    resolver = CallResolver(memory)
    for call in _answers(command):
        file = memory.find_file(call["path"])
        calls = memory.get_calls(file) if file is not None else None
        if calls is None or call["said"] == "unknown":
            continue
        found = _ours(resolver, calls, call)
        if found is not None:
            _count(tally, call, found)
    return tally


def _ours(
    resolver: CallResolver, calls: FileCalls, call: dict[str, Any]
) -> list[ResolvedTarget] | None:
    """What we say of a call; none if our index has no such call."""
    same = [
        one
        for one in calls.references
        if one.name == call["name"] and abs(one.line + 1 - int(str(call["line"]))) <= 0
    ]
    if not same:
        return [] if call["said"] == "inside" else None
    return [found for one in same for found in resolver.resolve(one, calls)]


def _count(tally: Tally, call: dict[str, Any], found: list[ResolvedTarget]) -> None:
    tally.calls += 1
    targets = call["targets"]
    right = [each for each in found if _is_one_of(each, targets)]
    sure = [each for each in found if each.certainty > Certainty.POSSIBLE]
    surely_right = [each for each in right if each.certainty > Certainty.POSSIBLE]
    inside = call["said"] == "inside"
    tally.inside += inside
    tally.found += bool(inside and right)
    tally.found_surely += bool(inside and surely_right)
    tally.named += bool(found)
    tally.right += bool(right)
    tally.sure += bool(sure)
    tally.surely_right += bool(surely_right)
    if (inside and not right) or (sure and not surely_right):
        ours = [
            (each.symbol.path, each.symbol.qualified_name, each.certainty.name) for each in found
        ]
        tally.misses.append(f"    {json.dumps(call)} ours: {ours[:4]}")


def _is_one_of(found: ResolvedTarget, targets: object) -> bool:
    assert isinstance(targets, list)  # noqa: S101 - as the references write it
    one = found.symbol
    first = one.first_line + 1
    return any(
        path == one.path and first - 1 <= line <= max(first + LINES_BEFORE_NAME, first)
        for path, line in targets
    )


def _answers(command: list[str]) -> Iterator[dict[str, Any]]:
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            yield json.loads(line)


def _share(part: int, whole: int) -> str:
    return f"{part / whole:.3f}" if whole else "-"
