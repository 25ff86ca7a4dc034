"""How many arguments a call gives, and how many a definition takes."""

from typing import TYPE_CHECKING

from kernel.domain.call_facts import ANY_NUMBER

if TYPE_CHECKING:
    from kernel.chunking.querying import Node

# Words in the types of nodes.
_ANY = ("splat", "spread", "rest", "variadic", "list_argument", "block_argument")
_OPTIONAL = ("default", "optional")
# Parameters that no call names.
_IMPLICIT = frozenset({"self_parameter", "receiver"})
_PLAIN_PARAMETERS = frozenset({"identifier", "tuple_pattern", "object_pattern", "array_pattern"})
_NO_PARAMETERS = frozenset({"keyword_separator", "positional_separator", "type_parameters"})


def arguments_in(nodes: "list[Node] | None") -> int:
    """How many arguments a call gives, or ANY_NUMBER."""
    if not nodes:
        return ANY_NUMBER
    children = [child for child in nodes[0].named_children if "comment" not in child.type]
    if any(word in child.type for child in children for word in _ANY):
        return ANY_NUMBER
    return len(children)


def parameters_in(nodes: "list[Node] | None", *, without_first: bool) -> tuple[int, int]:
    """The least and the most arguments a definition takes; ``without_first``: self is not given."""
    if not nodes:
        return 0, ANY_NUMBER
    children = nodes[0].named_children
    if len(children) == 1 and children[0].end_byte - children[0].start_byte == len("void"):
        children = [] if children[0].type == "parameter_declaration" else children
    if any(child.type == "params" for child in nodes[0].children):
        return 0, ANY_NUMBER
    # Kotlin puts the default beside its parameter.
    named = any("parameter" in child.type for child in children)
    least = most = 0
    for child in children:
        kind = child.type
        if "comment" in kind or kind in _IMPLICIT or kind in _NO_PARAMETERS:
            continue
        if named and "param" not in kind and kind not in _PLAIN_PARAMETERS:
            least = max(0, least - 1)
            continue
        if any(word in kind for word in _ANY):
            return least, ANY_NUMBER
        count = max(1, len(child.children_by_field_name("name")))
        optional = any(word in kind for word in _OPTIONAL) or _has_value(child)
        most += count
        least += 0 if optional else count
    counted = without_first and most and children[0].type not in _IMPLICIT
    taken = 1 if counted else 0
    return max(0, least - taken), most - taken


def fits(arguments: int, least: int, most: int) -> bool:
    """Whether a call with so many arguments can mean such a definition."""
    if arguments == ANY_NUMBER:
        return True
    return least <= arguments and (most == ANY_NUMBER or arguments <= most)


def _has_value(parameter: "Node") -> bool:
    if parameter.type == "identifier":
        return False
    if parameter.child_by_field_name("value") is not None:
        return True
    return any(child.type in {"=", "?"} for child in parameter.children)
