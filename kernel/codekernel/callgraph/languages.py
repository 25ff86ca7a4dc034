"""LANGUAGES: what the call graph knows about each language.

The tree-sitter queries are in queries/*.scm, the method names of standard libraries in
common_methods/*.txt; both are read when they are first needed.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from codekernel.callgraph.import_parsers import (
    parse_go_imports,
    parse_java_imports,
    parse_javascript_imports,
    parse_php_imports,
    parse_python_imports,
    parse_ruby_imports,
    parse_rust_imports,
)
from codekernel.domain.call_graph import ImportBinding

_NO_NAMES: frozenset[str] = frozenset()

_THIS, _SELF, _SUPER = frozenset({"this"}), frozenset({"self"}), frozenset({"super"})

# The constructor is a method named as its class.
_NAMED_AS_CLASS = frozenset({""})


@dataclass(frozen=True)
class LanguageSpec:
    """How one language defines and calls."""

    # Languages whose definitions can call each other.
    family: str
    # Files of queries/. A pattern captures one thing as a whole: @function, @class, @interface,
    # @object, @impl, @module, @call, @new, @variable, @field or @import; and its parts: @name,
    # @parameters, @bases, @returns, @owner, @callee (with what stands before it), or @receiver and
    # @name; @arguments; @type and @value of a variable.
    query_files: tuple[str, ...]
    self_names: frozenset[str] = _THIS
    super_names: frozenset[str] = _SUPER
    # Whether f() in a class may mean this.f().
    has_implicit_self: bool = False
    # Whether Foo() makes a Foo.
    has_constructor_calls: bool = False
    # The methods that new Foo() runs; "" is a method named as its class.
    constructors: frozenset[str] = _NO_NAMES
    # File of common_methods/: of an unknown object, the methods that many classes have say little.
    common_methods_file: str = ""
    parse_imports: Callable[[str], list[ImportBinding]] | None = None

    @cached_property
    def query(self) -> str:
        """The text of the tree-sitter query."""
        return "".join(_read_data("queries", f"{name}.scm") for name in self.query_files)

    @cached_property
    def common_methods(self) -> frozenset[str]:
        """Names of methods of the standard library."""
        if self.family == "python":
            types = (str, bytes, list, dict, set, tuple, int, float)
            return frozenset(name for value in types for name in dir(value))
        if not self.common_methods_file:
            return _NO_NAMES
        return frozenset(_read_data("common_methods", self.common_methods_file).split())


@cache
def _read_data(folder: str, name: str) -> str:
    return Path(__file__).with_name(folder).joinpath(name).read_text("utf-8")


def _make_javascript_spec(*query_files: str) -> LanguageSpec:
    return LanguageSpec(
        "javascript",
        ("javascript_common", *query_files),
        constructors=frozenset({"constructor"}),
        common_methods_file="javascript.txt",
        parse_imports=parse_javascript_imports,
    )


_JAVASCRIPT = _make_javascript_spec("javascript", "jsx")

LANGUAGES: dict[str, LanguageSpec] = {
    "python": LanguageSpec(
        "python",
        ("python",),
        self_names=frozenset({"self", "cls"}),
        super_names=frozenset({"super()"}),
        has_constructor_calls=True,
        constructors=frozenset({"__init__", "__new__"}),
        parse_imports=parse_python_imports,
    ),
    "javascript": _JAVASCRIPT,
    "jsx": _JAVASCRIPT,
    "typescript": _make_javascript_spec("typescript"),
    "tsx": _make_javascript_spec("typescript", "jsx"),
    "ruby": LanguageSpec(
        "ruby",
        ("ruby",),
        self_names=_SELF,
        has_implicit_self=True,
        constructors=frozenset({"initialize"}),
        common_methods_file="ruby.txt",
        parse_imports=parse_ruby_imports,
    ),
    "php": LanguageSpec(
        "php",
        ("php",),
        self_names=frozenset({"$this", "this", "self", "static"}),
        super_names=frozenset({"parent"}),
        constructors=frozenset({"__construct"}),
        parse_imports=parse_php_imports,
    ),
    "go": LanguageSpec(
        "go",
        ("go",),
        self_names=_NO_NAMES,
        super_names=_NO_NAMES,
        common_methods_file="go.txt",
        parse_imports=parse_go_imports,
    ),
    "rust": LanguageSpec(
        "rust",
        ("rust",),
        self_names=frozenset({"self", "Self"}),
        super_names=_NO_NAMES,
        common_methods_file="rust.txt",
        parse_imports=parse_rust_imports,
    ),
    "c": LanguageSpec("c", ("c",), self_names=_NO_NAMES, super_names=_NO_NAMES),
    "cpp": LanguageSpec(
        "c",
        ("c", "cpp"),
        super_names=_NO_NAMES,
        has_implicit_self=True,
        has_constructor_calls=True,
        constructors=_NAMED_AS_CLASS,
        common_methods_file="cpp.txt",
    ),
    "swift": LanguageSpec(
        "swift",
        ("swift",),
        self_names=frozenset({"self", "Self"}),
        has_implicit_self=True,
        has_constructor_calls=True,
        constructors=frozenset({"init"}),
        common_methods_file="swift.txt",
    ),
    "java": LanguageSpec(
        "jvm",
        ("java",),
        has_implicit_self=True,
        constructors=_NAMED_AS_CLASS,
        common_methods_file="object.txt",
        parse_imports=parse_java_imports,
    ),
    "kotlin": LanguageSpec(
        "jvm",
        ("kotlin",),
        has_implicit_self=True,
        has_constructor_calls=True,
        common_methods_file="object.txt",
        parse_imports=parse_java_imports,
    ),
    "csharp": LanguageSpec(
        "csharp",
        ("csharp",),
        super_names=frozenset({"base"}),
        has_implicit_self=True,
        constructors=_NAMED_AS_CLASS,
        common_methods_file="object.txt",
    ),
    "scala": LanguageSpec(
        "jvm",
        ("scala",),
        has_implicit_self=True,
        has_constructor_calls=True,
        common_methods_file="object.txt",
        parse_imports=parse_java_imports,
    ),
}
