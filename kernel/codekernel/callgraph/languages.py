"""LANGUAGES: what the call graph knows about each language, and how its imports are parsed.

The tree-sitter queries are in queries/*.scm, the method names of standard libraries in
common_methods/*.txt; both are read when they are first needed.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

from codekernel.callgraph.expressions import split_outside_brackets
from codekernel.domain.call_graph import ImportBinding

WILDCARD = "*"

_COMMENT = re.compile(r"#[^\n]*|//[^\n]*|/\*.*?\*/", re.DOTALL)

_SOURCE = re.compile(r"""(?:from|import|require\()\s*["']([^"']+)["']""")

_BRACES = re.compile(r"\{(.*?)\}", re.DOTALL)

_STAR_AS = re.compile(r"\*\s+as\s+([\w$]+)")

_DEFAULT = re.compile(r"^import\s+(?:type\s+)?([\w$]+)\s*(?:,|from)")

_EXPORTED_STAR = re.compile(r"^export\s+(?:type\s+)?\*\s+from")

_EXPORTED_DEFAULT = re.compile(
    r"^(?:export\s+default|module\.exports\s*=)\s+(?:(?:async|abstract)\s+)?"
    r"(?:(?:function\*?|class)\s+)?(?:([\w$]+)|\{)"
)

_EXPORTED_NAMES = re.compile(r"^export\s+\{(.*?)\}", re.DOTALL)

_REQUIRE_CALL = re.compile(r"""require(?:_relative)?\s*\(?\s*["']([^"']+)["']""")


def parse_python_imports(text: str) -> list[ImportBinding]:
    """Import a.b as c; from .a import b as c, d."""
    statement = " ".join(_COMMENT.sub("", text).replace("\\\n", " ").split())
    module, _, names = statement.removeprefix("from ").partition(" import ")
    is_module = statement.startswith("import ")
    parts = (statement[7:] if is_module else names.strip("() ")).split(",")
    pairs = [_split_alias(part, " as ") for part in parts if part.strip()]
    if is_module:  # import a.b binds a, and calls say a.b.f()
        return [ImportBinding(alias, name) for name, alias in pairs]
    return [ImportBinding(alias, module.strip(), name) for name, alias in pairs]


def parse_javascript_imports(text: str) -> list[ImportBinding]:
    """Import a, { b as c } from "m"; export { a } from "m"; const { a: b } = require("m")."""
    source = _SOURCE.search(text)
    if source is None:
        return _parse_exports(text)
    module, found = source[1], []
    if star := _STAR_AS.search(text):
        found.append(ImportBinding(star[1], module))
    elif _EXPORTED_STAR.match(text):
        found.append(ImportBinding("", module, WILDCARD))
    if default := _DEFAULT.match(text):
        found.append(ImportBinding(default[1], module, "default"))
    if braces := _BRACES.search(text[: source.start()] or ""):
        for part in _COMMENT.sub("", braces[1]).split(","):
            name, alias = _split_alias(part.strip().removeprefix("type "), " as ", ":")
            if name:
                found.append(ImportBinding(alias, module, name))
    return found


def _parse_exports(text: str) -> list[ImportBinding]:
    """What a file passes on of its own, under another name: ``module`` is the file itself."""
    if found := _EXPORTED_DEFAULT.match(text):
        # An object of functions stands for the functions.
        return [ImportBinding("default", "", found[1] or "")]
    braces = _EXPORTED_NAMES.match(text)
    parts = _COMMENT.sub("", braces[1]).split(",") if braces else []
    pairs = (_split_alias(part, " as ") for part in parts)
    return [ImportBinding(alias, "", name) for name, alias in pairs if name != alias]


def parse_require(text: str, alias: str) -> list[ImportBinding]:
    """Const alias = require("m")."""
    source = _SOURCE.match(text)
    return [ImportBinding(alias, source[1])] if source else []


def parse_java_imports(text: str) -> list[ImportBinding]:
    """Import a.b.C; import static a.B.c; import a.b.*; a.b.{C, D => E} of Scala; a.C as D."""
    statement = (
        text.strip().rstrip(";").removeprefix("import").strip().removeprefix("static ").strip()
    )
    head, brace, names = statement.partition("{")
    if brace:
        module = head.strip().rstrip(".")
        parts = (_split_alias(part, "=>", " as ") for part in names.rstrip("} \n").split(","))
        return [ImportBinding(alias, module, name) for name, alias in parts if name]
    bound = _bind_last_name(statement, ".")
    return [ImportBinding("", bound.module, WILDCARD) if bound.name in {"*", "_"} else bound]


def parse_go_imports(text: str) -> list[ImportBinding]:
    """X "a/b/c"; the name of a package is taken to be the last word of its path."""
    alias, _, path = text.strip().rpartition(" ")
    module = path.strip("\"'`")
    if alias == ".":
        return [ImportBinding("", module, WILDCARD)]
    parts = [part for part in module.split("/") if not re.fullmatch(r"v\d+", part)]
    name = parts[-1].removeprefix("go-").removesuffix("-go") if parts else ""
    return [ImportBinding(alias or name, module)]


def parse_rust_imports(text: str) -> list[ImportBinding]:
    """Use a::b::{C, d as e, self}; use a::*."""
    statement = " ".join(_COMMENT.sub("", text).split())
    statement = statement[statement.find("use ") + 4 :].rstrip("; ")
    return _parse_use_tree("", statement)


def parse_php_imports(text: str) -> list[ImportBinding]:
    r"""Use A\B\C as D, a function or a constant too."""
    statement = text.strip().rstrip(";").removeprefix("use ").strip()
    statement = statement.removeprefix("function ").removeprefix("const ")
    parts = (part.strip().strip("\\").replace("\\", ".") for part in statement.split(","))
    return [_bind_last_name(part, ".") for part in parts]


def parse_ruby_imports(text: str) -> list[ImportBinding]:
    """require_relative "a/b": all of it."""
    loaded = _REQUIRE_CALL.match(text)
    return [ImportBinding("", loaded[1], WILDCARD)] if loaded else []


def _bind_last_name(part: str, separator: str) -> ImportBinding:
    """Bind the last name of a path, or the alias behind it."""
    path, alias = _split_alias(part, " as ")
    module, _, name = path.rpartition(separator)
    return ImportBinding(name if alias == path else alias, module, name)


def _split_alias(part: str, *marks: str) -> tuple[str, str]:
    """What is imported, and what it is called here."""
    for mark in marks:
        name, found, alias = part.partition(mark)
        if found:
            return name.strip(), alias.strip()
    return part.strip(), part.strip()


def _parse_use_tree(prefix: str, statement: str) -> list[ImportBinding]:
    head, brace, inner = statement.partition("{")
    if brace:
        path = "::".join(part for part in (prefix, head.rstrip(":").strip()) if part)
        return [
            each
            for part in split_outside_brackets(inner.strip().removesuffix("}"), ",")
            for each in _parse_use_tree(path, part.strip())
            if part.strip()
        ]
    bound = _bind_last_name("::".join(filter(None, (prefix, statement))), "::")
    if bound.name == WILDCARD:
        return [ImportBinding("", bound.module, WILDCARD)]
    if bound.name == "self":
        last = bound.module.rpartition("::")[2]
        return [ImportBinding(last if bound.alias == "self" else bound.alias, bound.module)]
    return [bound]


# By language family.
_IMPORT_PARSERS: dict[str, Callable[[str], list[ImportBinding]]] = {
    "python": parse_python_imports,
    "javascript": parse_javascript_imports,
    "ruby": parse_ruby_imports,
    "php": parse_php_imports,
    "go": parse_go_imports,
    "rust": parse_rust_imports,
    "jvm": parse_java_imports,
}

# The constructor is a method named as its class.
NAMED_AS_CLASS = "<class>"


@dataclass(frozen=True)
class LanguageSpec:
    """How one language defines and calls."""

    name: str
    # Languages whose definitions can call each other.
    family: str
    # Files of queries/. A pattern captures one thing as a whole: @function, @class, @interface,
    # @object, @impl, @module, @call, @new, @variable, @field or @import; and its parts: @name,
    # @parameters, @bases, @returns, @owner, @callee (with what stands before it), or @receiver and
    # @name; @arguments; @type and @value of a variable.
    query_files: list[str]
    self_names: frozenset[str]
    super_names: frozenset[str]
    # The methods that new Foo() runs.
    constructors: frozenset[str]

    @property
    def has_implicit_self(self) -> bool:
        """Whether f() in a class may mean this.f()."""
        return self.name in _IMPLICIT_SELF

    @property
    def has_constructor_calls(self) -> bool:
        """Whether Foo() makes a Foo."""
        return self.name in _CONSTRUCTOR_CALLS

    @cached_property
    def query(self) -> str:
        """The text of the tree-sitter query."""
        return "".join(_read_data("queries", f"{name}.scm") for name in self.query_files)

    @cached_property
    def common_methods(self) -> frozenset[str]:
        """Methods of the standard library: of an unknown object, they say little."""
        if self.family == "python":
            types = (str, bytes, list, dict, set, tuple, int, float)
            return frozenset(name for value in types for name in dir(value))
        file = _COMMON_METHODS.get(self.name)
        return frozenset(_read_data("common_methods", f"{file}.txt").split() if file else ())

    def parse_imports(self, statement: str) -> list[ImportBinding]:
        """Parse an import statement; none in a language whose names need no import."""
        parse = _IMPORT_PARSERS.get(self.family)
        return parse(statement) if parse else []


@cache
def _read_data(folder: str, name: str) -> str:
    return Path(__file__).with_name(folder).joinpath(name).read_text("utf-8")


_IMPLICIT_SELF = frozenset({"ruby", "cpp", "swift", "java", "kotlin", "csharp", "scala"})

_CONSTRUCTOR_CALLS = frozenset({"python", "cpp", "swift", "kotlin", "scala"})

# Files of common_methods/.
_COMMON_METHODS = {
    **dict.fromkeys(("javascript", "jsx", "typescript", "tsx"), "javascript"),
    **dict.fromkeys(("java", "kotlin", "scala", "csharp"), "object"),
    **{name: name for name in ("ruby", "go", "rust", "cpp", "swift")},
}

_SCRIPT_NAMES = ("this", "super", "constructor")

# Name, family, query files, names of self, of super, of constructors.
_TABLE = (
    ("python", "python", "python", "self cls", "super()", "__init__ __new__"),
    ("javascript", "javascript", "javascript_common javascript jsx", *_SCRIPT_NAMES),
    ("jsx", "javascript", "javascript_common javascript jsx", *_SCRIPT_NAMES),
    ("typescript", "javascript", "javascript_common typescript", *_SCRIPT_NAMES),
    ("tsx", "javascript", "javascript_common typescript jsx", *_SCRIPT_NAMES),
    ("ruby", "ruby", "ruby", "self", "super", "initialize"),
    ("php", "php", "php", "$this this self static", "parent", "__construct"),
    ("go", "go", "go", "", "", ""),
    ("rust", "rust", "rust", "self Self", "", ""),
    ("c", "c", "c", "", "", ""),
    ("cpp", "c", "c cpp", "this", "", NAMED_AS_CLASS),
    ("swift", "swift", "swift", "self Self", "super", "init"),
    ("java", "jvm", "java", "this", "super", NAMED_AS_CLASS),
    ("kotlin", "jvm", "kotlin", "this", "super", ""),
    ("csharp", "csharp", "csharp", "this", "base", NAMED_AS_CLASS),
    ("scala", "jvm", "scala", "this", "super", ""),
)

LANGUAGES = {
    name: LanguageSpec(name, family, queries.split(), *(frozenset(each.split()) for each in names))
    for name, family, queries, *names in _TABLE
}
