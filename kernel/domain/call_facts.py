"""What one file says about calls: the definitions, the references, and the imports in it."""

from dataclasses import dataclass, field
from enum import IntEnum

# Whatever has methods; the rest is called itself.
CLASS_KINDS = frozenset({"class", "interface", "object", "impl", "module"})
NOWHERE = -1
# A call or a definition that takes any number of arguments, or nobody knows how many.
ANY_NUMBER = -1


class Through(IntEnum):
    """What stands before the name that is called."""

    NOTHING = 0
    # self, this: the class around it.
    OWN = 1
    SUPER = 2
    # Something of a declared type.
    TYPE = 3
    # What a call of something returned: of a class, an object of it.
    MADE = 4
    # A name that is no variable here: a class, a module, a namespace, something imported.
    NAME = 5
    # Anything else.
    VALUE = 6
    # new Foo(): the name is a class.
    NEW = 7
    # A text, a number, a variable that holds a function: nothing that the index can know.
    UNKNOWABLE = 8


@dataclass(frozen=True, slots=True)
class Definition:
    """A function, a method, or something that has methods; lines count from 0, ``last`` is in.

    ``owner`` are the names around it, joined by "."; ``of_class`` is the last of them if that is
    what it belongs to: a class, or a namespace. ``number`` is its place in the file.
    """

    number: int
    name: str
    owner: str
    kind: str
    of_class: str
    first: int
    last: int
    least: int = 0
    most: int = ANY_NUMBER
    # Of a class: what it extends or implements. Of a function: the type it says it returns.
    bases: tuple[str, ...] = ()
    returns: str = ""

    @property
    def qualified(self) -> str:
        """Its name with the names around it."""
        return f"{self.owner}.{self.name}" if self.owner else self.name


@dataclass(frozen=True, slots=True)
class Reference:
    """A call: of what, where, and in which definition (its number, or NOWHERE)."""

    name: str
    line: int
    within: int
    through: Through = Through.NOTHING
    text: str = ""
    arguments: int = ANY_NUMBER


@dataclass(frozen=True, slots=True)
class Import:
    """``alias`` stands for ``name`` of ``module``; without name for the module, "*" for all."""

    alias: str
    module: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class CallFacts:
    """All of one file."""

    definitions: tuple[Definition, ...] = ()
    references: tuple[Reference, ...] = ()
    imports: tuple[Import, ...] = field(default=())
