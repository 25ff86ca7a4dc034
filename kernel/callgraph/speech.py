"""What a table says about the calls of one language."""

from collections.abc import Callable
from dataclasses import dataclass

from kernel.domain.call_facts import Import

ImportReader = Callable[[str], list[Import]]


def no_imports(_: str) -> list[Import]:
    """Languages whose imports name no file and no definition."""
    return []


@dataclass(frozen=True, slots=True)
class Speech:
    """How one language defines and calls.

    ``query`` is for tree-sitter. A pattern captures one thing as a whole: @function, @class,
    @interface, @object, @impl, @module, @call, @new, @variable, @field or @import; and its parts:
    @name, @parameters, @bases, @returns, @owner, @callee (with what stands before it), or
    @receiver and @name; @arguments; @type and @value of a variable.
    """

    query: str
    # Languages whose definitions can call each other.
    family: str
    own: frozenset[str] = frozenset({"this"})
    supers: frozenset[str] = frozenset({"super"})
    # Whether f() in a class may mean this.f().
    implicit_own: bool = False
    # Whether Foo() makes a Foo.
    calls_make: bool = False
    # The methods that new Foo() runs; "" is a method named as its class.
    constructors: frozenset[str] = frozenset()
    # Methods of what the language brings along: of an unknown object they say little.
    common: frozenset[str] = frozenset()
    imports: ImportReader = no_imports
