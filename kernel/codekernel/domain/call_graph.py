"""The call graph: definitions, call references and imports of one file.

Queries for callers and callees with their results.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum, StrEnum

from codekernel.domain.concurrency import CancelToken

# Kinds of definitions that have methods.
CLASS_KINDS = frozenset({"class", "interface", "object", "impl", "module"})

NO_DEFINITION = -1

# Any number of arguments, or an unknown number.
ANY_ARGUMENT_COUNT = -1


class ReceiverKind(IntEnum):
    """What precedes the called name."""

    NOTHING = 0
    # self, this: the class around it.
    SELF = 1
    SUPER = 2
    # Something of a declared type.
    TYPE = 3
    # What a call of something returned: of a class, an object of it.
    CALL_RESULT = 4
    # A name that is no variable here: a class, a module, a namespace, something imported.
    NAME = 5
    # Anything else.
    VALUE = 6
    # new Foo(): the name is a class.
    NEW = 7
    # A literal, or a variable that holds a function: not in the index.
    UNKNOWN = 8


@dataclass(frozen=True, slots=True)
class SymbolDefinition:
    """A function, a method, or something that has methods; lines count from 0, ``last`` is in.

    ``owner`` are the names around it, joined by "."; ``class_name`` is the last of them if that is
    a class or a namespace. ``number`` is its position in the file.
    """

    number: int
    name: str
    owner: str
    kind: str
    class_name: str
    first_line: int
    last_line: int
    min_arguments: int = 0
    max_arguments: int = ANY_ARGUMENT_COUNT
    # Of a class: what it extends or implements. Of a function: its declared return type.
    bases: tuple[str, ...] = ()
    return_type: str = ""

    @property
    def qualified_name(self) -> str:
        """The name with the names around it."""
        return f"{self.owner}.{self.name}" if self.owner else self.name

    @property
    def is_class(self) -> bool:
        """Whether it has methods."""
        return self.kind in CLASS_KINDS


@dataclass(frozen=True, slots=True)
class CallReference:
    """A call: of what, where, and in which definition (its number, or NO_DEFINITION)."""

    name: str
    line: int
    enclosing_definition: int
    receiver_kind: ReceiverKind = ReceiverKind.NOTHING
    receiver_text: str = ""
    argument_count: int = ANY_ARGUMENT_COUNT


@dataclass(frozen=True, slots=True)
class ImportBinding:
    """``alias`` stands for ``name`` of ``module``; without name for the module, "*" for all."""

    alias: str
    module: str
    name: str = ""


@dataclass(frozen=True, slots=True)
class CallFacts:
    """The definitions, calls and imports of one file."""

    definitions: tuple[SymbolDefinition, ...] = ()
    references: tuple[CallReference, ...] = ()
    imports: tuple[ImportBinding, ...] = ()


# As documented; a caller that is shown can be queried in turn.
MAX_CALLERS = 20

MAX_CALLEES = 30

MAX_CHAIN_DEPTH = 10


class CallDirection(StrEnum):
    """The direction in which calls are followed."""

    CALLERS = "callers"
    CALLEES = "callees"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class CallChainQuery:
    """``method`` is a name, or a name with those around it: ClassName.methodName.

    With ``path`` only definitions in that file are meant.
    """

    method: str
    direction: CallDirection = CallDirection.BOTH
    depth: int = 1
    with_source: bool = False
    most_callers: int = MAX_CALLERS
    most_callees: int = MAX_CALLEES
    path: str = ""


@dataclass(frozen=True, slots=True)
class CallChainNode:
    """A definition, or the code of a file outside of all; lines count from 1, both are in."""

    name: str
    kind: str
    path: str
    first_line: int
    last_line: int
    source: str = ""


@dataclass(frozen=True, slots=True)
class CallChainStep:
    """One step of a chain: a caller or a callee, and what comes after it.

    ``lines`` are those of the calls: in the caller. ``again``: it has been shown before, with what
    follows it; a cycle ends so.
    """

    place: CallChainNode
    certainty: str
    lines: tuple[int, ...]
    next: "CallChainSteps"
    again: bool = False


@dataclass(frozen=True, slots=True)
class CallChainSteps:
    """``more`` are left out; ``unread`` files call the name too and were not looked at."""

    steps: tuple[CallChainStep, ...] = ()
    more: int = 0
    unread: int = 0
    # Names that are called and are not in the repository, or could be anything.
    outside: tuple[str, ...] = ()


NO_CHAIN_STEPS = CallChainSteps()


@dataclass(frozen=True, slots=True)
class DefinitionCallChain:
    """One definition that the question means."""

    place: CallChainNode
    callers: CallChainSteps | None
    callees: CallChainSteps | None


@dataclass(frozen=True, slots=True)
class CallChainResult:
    """Same-named definitions are apart; ``behind`` files have not been read yet."""

    question: CallChainQuery
    chains: tuple[DefinitionCallChain, ...]
    more: int = 0
    behind: int = 0
    # Without any definition: how many files call something of that name.
    calling_files: int = 0


# Within so many seconds, unless cancelled.
QueryCallChain = Callable[[CallChainQuery, CancelToken, float], CallChainResult]
