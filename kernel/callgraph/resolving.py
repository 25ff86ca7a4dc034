"""What a call means: the definitions it may reach, each with how sure that is."""

from dataclasses import replace

from kernel.callgraph.arities import fits
from kernel.callgraph.memory import Memory
from kernel.callgraph.speeches import SPEECHES
from kernel.callgraph.symbols import BY_FILES, Certainty, Found, Symbols, family, family_of
from kernel.domain.call_facts import CLASS_KINDS, Reference, Through
from kernel.storage.call_reader import CallsOfFile, Placed

# Methods of one name, of which an unknown object may have any; more say nothing.
MOST_GUESSES = 8


class Resolver:
    """Answers for the references of one moment."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._symbols = Symbols(memory)

    def targets(self, one: Reference, calls: CallsOfFile) -> list[Found]:
        """What a reference in a file may call."""
        within = self._memory.at(calls.file, one.within)
        found = self._found(one, calls, within)
        return _by_arity(one.arguments, list({each.placed.key: each for each in found}.values()))

    def _found(  # noqa: C901, PLR0911 - one way for each kind of receiver
        self, one: Reference, calls: CallsOfFile, within: Placed | None
    ) -> list[Found]:
        match one.through:
            case Through.NOTHING:
                return self._bare(one, calls, within)
            case Through.NEW:
                path = f"{one.text}.{one.name}" if one.text else one.name
                if one.name == "new":  # Ruby
                    path = one.text
                found = self._symbols.named(path, calls, _inside(within))
                return _classes(found) or found
            case Through.OWN | Through.SUPER:
                return self._own(one, calls, within)
            case Through.TYPE:
                types = self._symbols.named(one.text, calls, _inside(within))
                return self._of_type(one, types) if types else self._of_unseen(one, calls)
            case Through.MADE:
                return self._made(one, calls, within)
            case Through.NAME:
                return self._through_name(one, calls, within)
            case Through.VALUE:
                return self._guessed(one, calls)
            case _:
                return []

    def _bare(self, one: Reference, calls: CallsOfFile, within: Placed | None) -> list[Found]:
        speech = SPEECHES[calls.language]
        inside = _inside(within)
        if speech.implicit_own and within is not None:
            for owner in self._classes_around(calls, within):
                if own := self._symbols.members(owner, one.name):
                    return own
            if unseen := self._of_unseen(replace(one, text=within.one.of_class), calls):
                return unseen
        found = self._symbols.named(one.name, calls, inside)
        if not speech.calls_make:
            found = [each for each in found if each.placed.one.kind not in CLASS_KINDS] or found
        return found

    def _own(self, one: Reference, calls: CallsOfFile, within: Placed | None) -> list[Found]:
        classes = self._classes_around(calls, within) if within else []
        name = one.name
        for owner in classes[:1]:
            if one.through == Through.OWN:
                found = self._symbols.members(owner, name)
                possible = self._symbols.overriding(owner, name)
                return [*found, *_possibly(possible, found)]
            calls_constructor = name in {"super", "base", "this", "__init__"}
            for base in self._symbols.bases(owner):
                if calls_constructor:
                    return [Found(base, Certainty.CERTAIN)]
                if found := self._symbols.members(base, name):
                    return found
        return self._of_unseen(one, calls) if one.through == Through.OWN else []

    def _of_unseen(self, one: Reference, calls: CallsOfFile) -> list[Found]:
        """Methods of a class that hides behind a macro, or in a file that cannot be parsed."""
        spoken = family_of(calls.language)
        if spoken in BY_FILES or spoken == "jvm":
            return []  # there an import says where the class is, or that it is from elsewhere
        same = self._memory.named(one.name, one.text.rpartition(".")[2]) if one.text else []
        return [Found(each, Certainty.LIKELY) for each in same if family(each) == spoken]

    def _of_type(self, one: Reference, types: list[Found]) -> list[Found]:
        found: list[Found] = []
        for each in _classes(types):
            own = self._symbols.members(each.placed, one.name)
            found += [Found(f.placed, min(f.certainty, each.certainty)) for f in own]
            possible = _possibly(self._symbols.overriding(each.placed, one.name), found)
            found += [Found(f.placed, min(f.certainty, each.certainty)) for f in possible]
        return found

    def _made(self, one: Reference, calls: CallsOfFile, within: Placed | None) -> list[Found]:
        """A method of what a call returned: of a class an object, of a function what it says."""
        makers = self._symbols.named(one.text, calls, _inside(within))
        head, _, method = one.text.rpartition(".")
        if head in SPEECHES[calls.language].own and within is not None:
            makers = [
                each
                for owner in self._classes_around(calls, within)[:1]
                for each in self._symbols.members(owner, method)
            ]
        elif not makers and head:
            return self._guessed(one, calls)
        found: list[Found] = []
        for maker in makers:
            if maker.placed.one.kind in CLASS_KINDS:
                found += self._of_type(one, [maker])
                continue
            elsewhere = self._memory.calls_of(maker.placed.file)
            returned = maker.placed.one.returns
            if returned and elsewhere:
                types = self._symbols.named(returned, elsewhere, maker.placed.one.owner)
                found += self._of_type(one, types)
            elif not returned:
                found += self._guessed(one, calls)
        return found

    def _through_name(
        self, one: Reference, calls: CallsOfFile, within: Placed | None
    ) -> list[Found]:
        inside = _inside(within)
        found = self._symbols.named(f"{one.text}.{one.name}", calls, inside)
        if found:
            return found
        owners = self._symbols.named(one.text, calls, inside)
        if owners:
            return self._of_type(one, owners)
        head = one.text.partition(".")[0]
        if any(each.alias == head for each in calls.imports):
            return []  # it is from elsewhere
        spoken = family_of(calls.language)
        scope = one.text.rpartition(".")[2]
        scoped = [each for each in self._memory.named(one.name, scope) if family(each) == spoken]
        if spoken in BY_FILES:  # without an import nothing of another file is meant
            scoped = []
        if scoped:
            return [Found(each, Certainty.LIKELY) for each in scoped]
        return [] if head[:1].isupper() else self._guessed(one, calls)

    def _guessed(self, one: Reference, calls: CallsOfFile) -> list[Found]:
        """Methods that are only known to have this name."""
        speech = SPEECHES[calls.language]
        same = [
            each
            for each in self._memory.named(one.name)
            if family(each) == speech.family
            and each.one.kind == "method"
            and fits(one.arguments, each.one.least, each.one.most)
        ]
        if not same or len(same) > MOST_GUESSES or one.name.startswith("__"):
            return []
        alone = len({each.one.of_class for each in same}) == 1 and one.name not in speech.common
        return [Found(each, Certainty.LIKELY if alone else Certainty.POSSIBLE) for each in same]

    def _classes_around(self, calls: CallsOfFile, within: Placed) -> list[Placed]:
        """The classes a definition is in, innermost first."""
        names = within.one.qualified.split(".")
        found = []
        for end in range(len(names), 0, -1):
            owner, name = ".".join(names[: end - 1]), names[end - 1]
            here = self._memory.in_file(calls.file, name)
            classes = [
                one for one in here if one.one.kind in CLASS_KINDS and one.one.owner == owner
            ]
            if classes or end == len(names):
                found += classes
                continue
            # A::f() {} outside of its class, or a method of Go.
            if within.one.of_class == name:
                found += [
                    each.placed for each in _classes(self._symbols.named(name, calls))
                ]  # fmt: skip
        return found


def _inside(within: Placed | None) -> str:
    return within.one.qualified if within else ""


def _classes(found: list[Found]) -> list[Found]:
    return [each for each in found if each.placed.one.kind in CLASS_KINDS]


def _possibly(methods: list[Placed], found: list[Found]) -> list[Found]:
    """Methods that override what was found; the only ones there are, if nothing was."""
    certainty = Certainty.POSSIBLE if found else Certainty.LIKELY
    certainty = Certainty.POSSIBLE if len(methods) > 1 else certainty
    return [Found(each, certainty) for each in methods]


def _by_arity(arguments: int, found: list[Found]) -> list[Found]:
    """Of overloads those that take so many arguments; if none does, all are only possible."""
    fitting = [
        each
        for each in found
        if each.placed.one.kind in CLASS_KINDS
        or fits(arguments, each.placed.one.least, each.placed.one.most)
    ]
    if fitting or not found:
        return fitting
    return [Found(each.placed, min(each.certainty, Certainty.LIKELY)) for each in found]
