"""What is known of the variables and fields of a file: the class of what they hold."""

from kernel.callgraph.expressions import Held, held_by, path_in
from kernel.callgraph.matching import Match, Texts
from kernel.callgraph.naming import Nesting
from kernel.callgraph.speech import Speech
from kernel.callgraph.type_names import type_name
from kernel.domain.call_facts import CLASS_KINDS, NOWHERE, Definition, Through

_ANYTHING = Held(Through.VALUE, "")
# A variable that is also set to nothing still holds what it held.
_NOTHING = frozenset({"None", "null", "undefined", "nil", "nullptr", "NULL", ""})
# The compiler finds the type out; what is assigned says it here.
_INFERRED = frozenset({"auto", "var", "let", "const"})


class Variables:
    """Looks a name up from a place outwards."""

    def __init__(self, definitions: list[Definition], nesting: Nesting, speech: Speech) -> None:
        self._definitions = definitions
        self._nesting = nesting
        self._speech = speech
        self._held: dict[tuple[int, str], Held] = {}
        self._fields: dict[tuple[str, str], Held] = {}

    def note(self, match: Match, texts: Texts) -> None:
        """Take in a declaration or an assignment."""
        names = match.parts.get("name", [])
        place = self._nesting.around(match.begin)
        for node in names:
            name = texts.of([node]).lstrip("$@")
            held = self._what(match, texts, place)
            if held is None or not name:
                continue
            if match.kind == "field":
                receiver = texts.of(match.parts.get("receiver"))
                if (owner := self.class_around(place)) and (
                    not receiver or receiver in self._speech.own
                ):
                    _merge(self._fields, (owner, name), held)
            else:
                _merge(self._held, (place, name), held)

    def held(self, name: str, place: int) -> Held | None:
        """What a variable holds, seen from a definition; none if there is no such variable."""
        for number in self._nesting.ways_out(place):
            if found := self._held.get((number, name)):
                return found
        return self.field(name, place) if self._speech.implicit_own else None

    def is_local(self, name: str, place: int) -> bool:
        """Whether a name is a variable of a function around."""
        ways = self._nesting.ways_out(place)
        return any((number, name) in self._held for number in ways if number != NOWHERE)

    def field(self, name: str, place: int) -> Held | None:
        """What a field of the class around holds."""
        return self._fields.get((self.class_around(place), name))

    def field_of(self, owner: Held, name: str) -> Held | None:
        """What a field holds of something whose class is known."""
        return self._fields.get((owner.text, name)) if owner.through == Through.TYPE else None

    def class_around(self, place: int) -> str:
        """The name of the class that a definition belongs to; "" if there is none."""
        for number in self._nesting.ways_out(place)[:-1]:
            one = self._definitions[number]
            if one.kind in CLASS_KINDS and one.kind != "module":
                return one.name
            if one.kind == "method":
                return one.of_class
        return ""

    def _what(self, match: Match, texts: Texts, place: int) -> Held | None:
        declared = texts.of(match.parts.get("type")).strip(": ")
        if declared and declared not in _INFERRED:
            name = type_name(declared)
            if name in {"Self", "self"}:
                name = self.class_around(place)
            return Held(Through.TYPE, name) if name else _ANYTHING
        value = match.parts.get("value")
        text = texts.of(value)
        if value and text.strip() in _NOTHING:
            return None
        return held_by(text) or self.held(path_in(text), place) or _ANYTHING


def _merge(known: dict[tuple[int, str], Held] | dict[tuple[str, str], Held],
           key: tuple[int, str] | tuple[str, str], held: Held) -> None:  # fmt: skip
    """One name that holds different things holds anything."""
    table: dict[object, Held] = known  # type: ignore[assignment]
    before = table.get(key)
    if before is None or before == held:
        table[key] = held
    elif before.through != Through.TYPE or held.through == Through.TYPE:
        table[key] = _ANYTHING
