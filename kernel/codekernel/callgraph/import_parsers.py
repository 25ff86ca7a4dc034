"""Parse the import statements of each language into ImportBindings."""

import re

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
    if statement.startswith("import "):
        return [_parse_python_module(part) for part in statement[7:].split(",") if part.strip()]
    module, _, names = statement.removeprefix("from ").partition(" import ")
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
    statement = (
        text.strip().rstrip(";").removeprefix("import").strip().removeprefix("static ").strip()
    )
    head, brace, names = statement.partition("{")
    if brace:
        module = head.strip().rstrip(".")
        parts = (_split_alias(part, "=>", " as ") for part in names.rstrip("} \n").split(","))
        return [ImportBinding(alias, module, name) for name, alias in parts if name]
    path, alias = _split_alias(statement, " as ")
    module, _, name = path.rpartition(".")
    if name in {"*", "_"}:
        return [ImportBinding("", module, WILDCARD)]
    return [ImportBinding(alias if " as " in statement else name, module, name)]


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
    found = []
    for part in statement.split(","):
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
    path, alias = _split_alias(statement, " as ")
    whole = "::".join(part for part in (prefix, path) if part)
    module, _, name = whole.rpartition("::")
    if name == WILDCARD:
        return [ImportBinding("", module, WILDCARD)]
    if name == "self":
        last = module.rpartition("::")[2]
        return [ImportBinding(alias if " as " in statement else last, module)]
    return [ImportBinding(alias if " as " in statement else name, module, name)]
