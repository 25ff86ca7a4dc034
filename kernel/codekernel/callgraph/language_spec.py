"""LanguageSpec, what the call graph knows about one language.

The import parsers and the lists of common method names that the specs use.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass

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
    said = " ".join(_COMMENT.sub("", text).replace("\\\n", " ").split())
    if said.startswith("import "):
        return [_parse_python_module(part) for part in said[7:].split(",") if part.strip()]
    module, _, names = said.removeprefix("from ").partition(" import ")
    pairs = [_split_alias(part, " as ") for part in names.strip("() ").split(",") if part.strip()]
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
    said = text.strip().rstrip(";").removeprefix("import").strip().removeprefix("static ").strip()
    head, brace, names = said.partition("{")
    if brace:
        module = head.strip().rstrip(".")
        parts = (_split_alias(part, "=>", " as ") for part in names.rstrip("} \n").split(","))
        return [ImportBinding(alias, module, name) for name, alias in parts if name]
    path, alias = _split_alias(said, " as ")
    module, _, name = path.rpartition(".")
    if name in {"*", "_"}:
        return [ImportBinding("", module, WILDCARD)]
    return [ImportBinding(alias if " as " in said else name, module, name)]


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
    said = " ".join(_COMMENT.sub("", text).split())
    said = said[said.find("use ") + 4 :].rstrip("; ")
    return _parse_use_tree("", said)


def parse_php_imports(text: str) -> list[ImportBinding]:
    r"""Use A\B\C as D, a function or a constant too."""
    said = text.strip().rstrip(";").removeprefix("use ").strip()
    said = said.removeprefix("function ").removeprefix("const ")
    found = []
    for part in said.split(","):
        path, alias = _split_alias(part, " as ")
        module, _, name = path.strip("\\").rpartition("\\")
        found.append(
            ImportBinding(alias if " as " in part else name, module.replace("\\", "."), name)
        )
    return found


def parse_ruby_imports(text: str) -> list[ImportBinding]:
    """require_relative "a/b": all of it."""
    loaded = _REQUIRE_CALL.match(text)
    return [ImportBinding("", loaded[1], WILDCARD)] if loaded else []


def _parse_python_module(part: str) -> ImportBinding:
    name, alias = _split_alias(part, " as ")
    # import a.b binds a, and calls say a.b.f().
    return ImportBinding(alias, name)


def _split_alias(part: str, *marks: str) -> tuple[str, str]:
    """What is imported, and what it is called here."""
    for mark in marks:
        name, found, alias = part.partition(mark)
        if found:
            return name.strip(), alias.strip()
    return part.strip(), part.strip()


def _parse_use_tree(prefix: str, said: str) -> list[ImportBinding]:
    head, brace, inner = said.partition("{")
    if brace:
        path = "::".join(part for part in (prefix, head.rstrip(":").strip()) if part)
        return [
            each
            for part in _split_outside_braces(inner.strip().removesuffix("}"))
            for each in _parse_use_tree(path, part.strip())
            if part.strip()
        ]
    path, alias = _split_alias(said, " as ")
    whole = "::".join(part for part in (prefix, path) if part)
    module, _, name = whole.rpartition("::")
    if name == WILDCARD:
        return [ImportBinding("", module, WILDCARD)]
    if name == "self":
        last = module.rpartition("::")[2]
        return [ImportBinding(alias if " as " in said else last, module)]
    return [ImportBinding(alias if " as " in said else name, module, name)]


def _split_outside_braces(text: str) -> list[str]:
    """Split at commas that are in no braces."""
    parts, depth = [""], 0
    for character in text:
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


PYTHON_COMMON_METHODS = frozenset(
    name for value in (str, bytes, list, dict, set, tuple, int, float) for name in dir(value)
)

JAVASCRIPT_COMMON_METHODS = _word_set(
    """
    apply at bind call catch charAt charCodeAt clear codePointAt concat copyWithin endsWith
    entries every exec fill filter finally find findIndex findLast flat flatMap forEach get
    has hasOwnProperty includes indexOf join keys lastIndexOf localeCompare map match matchAll
    normalize padEnd padStart pop push reduce reduceRight repeat replace replaceAll reverse
    search set shift slice some sort splice split startsWith substring test then toFixed
    toISOString toJSON toLocaleString toLowerCase toString toUpperCase trim trimEnd trimStart
    unshift valueOf values log warn error info debug addEventListener removeEventListener
    appendChild close end on once off emit write next return throw add delete getTime abort
    """
)

RUBY_COMMON_METHODS = _word_set(
    """
    each map select reject call new to_s to_a to_h to_sym keys values fetch merge include?
    empty? nil? any? all? first last push join split gsub sub match size length is_a?
    respond_to? send freeze dup raise require puts
    """
)

GO_COMMON_METHODS = _word_set(
    """
    Close Error Len Lock Read String Unlock Write
    """
)

RUST_COMMON_METHODS = _word_set(
    """
    as_bytes as_mut as_ref as_str and_then chain clone cloned cmp collect contains copied
    count default deref drop eq err expect extend filter find flatten fmt fold from get
    get_mut hash insert into into_inner into_iter is_empty is_err is_none is_ok is_some iter
    iter_mut join len lock map map_err next ok ok_or or_else poll pop push remove replace send
    split take to_owned to_string to_vec trim unwrap unwrap_or unwrap_or_default
    unwrap_or_else wake with_capacity write zip
    """
)

CPP_COMMON_METHODS = _word_set(
    """
    append at back begin c_str clear data emplace emplace_back empty end erase find front get
    insert length load pop_back push_back rbegin release rend reserve reset resize size store
    str substr swap value lock unlock count
    """
)

SWIFT_COMMON_METHODS = _word_set(
    """
    append map filter first contains count forEach insert remove joined
    """
)

# Java, Kotlin, Scala and C#.
OBJECT_COMMON_METHODS = _word_set(
    """
    add addAll apply clear close compareTo contains containsKey equals filter find forEach
    format get getClass hashCode indexOf isEmpty iterator join keySet length map next put
    remove replace run set size split startsWith stream substring toString trim valueOf values
    write read append accept Add Any Append Clear Contains ContainsKey Dispose Equals First
    GetHashCode GetType Insert Invoke Join Remove Replace Select Split StartsWith Substring
    ToArray ToList ToString TryGetValue Where Write
    """
)

ImportParser = Callable[[str], list[ImportBinding]]


def parse_no_imports(_: str) -> list[ImportBinding]:
    """Languages whose imports name no file and no definition."""
    return []


@dataclass(frozen=True, slots=True)
class LanguageSpec:
    """How one language defines and calls.

    ``query`` is for tree-sitter. A pattern captures one thing as a whole: @function, @class,
    @interface, @object, @impl, @module, @call, @new, @variable, @field or @import; and its parts:
    @name, @parameters, @bases, @returns, @owner, @callee (with what stands before it), or
    @receiver and @name; @arguments; @type and @value of a variable.
    """

    query: str
    # Languages whose definitions can call each other.
    family: str
    self_names: frozenset[str] = frozenset({"this"})
    super_names: frozenset[str] = frozenset({"super"})
    # Whether f() in a class may mean this.f().
    has_implicit_self: bool = False
    # Whether Foo() makes a Foo.
    has_constructor_calls: bool = False
    # The methods that new Foo() runs; "" is a method named as its class.
    constructors: frozenset[str] = frozenset()
    # Methods of what the language brings along: of an unknown object they say little.
    common_methods: frozenset[str] = frozenset()
    parse_imports: ImportParser = parse_no_imports
