"""From matches to definitions: which is in which, how each is called, what it takes."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence

from kernel.callgraph.arities import parameters_in
from kernel.callgraph.matching import Match, Texts
from kernel.callgraph.speech import Speech
from kernel.callgraph.type_names import base_names, dotted, type_name
from kernel.domain.call_facts import CLASS_KINDS, NOWHERE, Definition

Own = frozenset[str]
DEFINING = frozenset({"function", *CLASS_KINDS})
_GENERIC = re.compile(r"<.*>|\[.*\]", re.DOTALL)
_QUOTES = "\"'`#[] "
# A.prototype.f, module.exports.f, exports.f, this.f belong to A or to nobody.
_SILENT = frozenset({"prototype", "module", "exports", "this", "self", "window", "$"})
_LAST_WORD = re.compile(r"(\w+)\W*$")
# More than any file that a person wrote.
MOST_DEFINITIONS = 20_000


class Nesting:
    """Which definition a place of the source is in."""

    def __init__(self, spans: Sequence[tuple[int, int]]) -> None:
        self._spans = spans
        self._begins = [begin for begin, _ in spans]
        self.parents = [NOWHERE] * len(spans)
        for number, (begin, end) in enumerate(spans):
            around = number - 1
            while around >= 0 and not (spans[around][0] <= begin and end <= spans[around][1]):
                around = self.parents[around]
            self.parents[number] = around

    def around(self, place: int) -> int:
        """The innermost definition that a place is in, or NOWHERE."""
        found = bisect_right(self._begins, place) - 1
        while found >= 0 and self._spans[found][1] <= place:
            found = self.parents[found]
        return found

    def ways_out(self, number: int) -> list[int]:
        """A definition and those around it, innermost first, NOWHERE last."""
        ways = []
        while number >= 0:
            ways.append(number)
            number = self.parents[number]
        return [*ways, NOWHERE]


def definitions_of(
    matches: Sequence[Match], texts: Texts, speech: Speech
) -> tuple[list[Definition], Nesting]:
    """The definitions in their order, and which is in which."""
    defining = _one_each(match for match in matches if match.kind in DEFINING)
    named = [(match, _names(match, texts)) for match in defining]
    named = [(match, names) for match, names in named if names][:MOST_DEFINITIONS]
    nesting = Nesting([(match.begin, match.end) for match, _ in named])
    for match in matches:
        if match.kind == "embedded" and (around := nesting.around(match.begin)) >= 0:
            # What a struct of Go embeds counts as what it extends.
            named[around][0].parts.setdefault("bases", []).extend(match.parts["bases"])
    found: list[Definition] = []
    for number, each in enumerate(named):
        parent = nesting.parents[number]
        above = found[parent] if parent >= 0 else None
        found.append(_definition(number, each, above, texts, speech.own))
    return found, nesting


def _definition(
    number: int, named: tuple[Match, list[str]], above: Definition | None, texts: Texts, own: Own
) -> Definition:
    match, names = named
    owners = [above.owner, above.name] if above else []
    owners = [*filter(None, owners), *(name for name in names[:-1] if name not in _SILENT)]
    kind, of_class = match.kind, ""
    if owners and (len(names) > 1 or (above and above.kind in CLASS_KINDS)):
        of_class = owners[-1]
        if kind == "function" and not (len(names) == 1 and above and above.kind == "module"):
            kind = "method"
    parts = match.parts
    own_first = texts.first_of(parts.get("parameters")) in own
    least, most = parameters_in(parts.get("parameters"), without_first=own_first)
    bases = [name for node in parts.get("bases", []) for name in base_names(texts.of([node]))]
    return Definition(
        number=number,
        name=names[-1],
        owner=".".join(owners),
        kind=kind,
        of_class=of_class,
        first=match.first,
        last=match.last,
        least=least,
        most=most,
        bases=tuple(bases),
        returns=of_class
        if (returns := _returned(texts.of(parts.get("returns")))) == "Self"
        else returns,
    )


def _names(match: Match, texts: Texts) -> list[str]:
    """The name and, where it says so, whose it is: A::f, (s *S) f, A.prototype.f."""
    text = texts.of(match.parts.get("name"))
    if "operator" not in text:
        text = _GENERIC.sub("", text)
    names = [name.strip(_QUOTES) for name in dotted(text).split(".")]
    owner = _LAST_WORD.search(_GENERIC.sub("", texts.of(match.parts.get("owner"))))
    names = [owner[1], *names] if owner else names
    return names if names[-1] else []


def _returned(text: str) -> str:
    # (T, error) of Go: the first is what is worked with.
    return type_name(text.strip("()").split(",", maxsplit=1)[0] if text.startswith("(") else text)


def _one_each(matches: Iterable[Match]) -> list[Match]:
    """Of two matches of the same place and kind of thing, the first."""
    found: dict[tuple[int, int], Match] = {}
    for match in matches:
        before = found.get((match.begin, match.end))
        if before is None or (before.kind == "object" and match.kind == "function"):
            found[match.begin, match.end] = match
    return list(found.values())
