"""What an import says, read from its text; modules keep their language's way of writing."""

import re

from kernel.domain.call_facts import Import

ALL = "*"
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
_LOADED = re.compile(r"""require(?:_relative)?\s*\(?\s*["']([^"']+)["']""")


def python_imports(text: str) -> list[Import]:
    """Import a.b as c; from .a import b as c, d."""
    said = " ".join(_COMMENT.sub("", text).replace("\\\n", " ").split())
    if said.startswith("import "):
        return [_python_module(part) for part in said[7:].split(",") if part.strip()]
    module, _, names = said.removeprefix("from ").partition(" import ")
    pairs = [_renamed(part, " as ") for part in names.strip("() ").split(",") if part.strip()]
    return [Import(alias, module.strip(), name) for name, alias in pairs]


def javascript_imports(text: str) -> list[Import]:
    """Import a, { b as c } from "m"; export { a } from "m"; const { a: b } = require("m")."""
    source = _SOURCE.search(text)
    if source is None:
        return _exports(text)
    module, found = source[1], []
    if star := _STAR_AS.search(text):
        found.append(Import(star[1], module))
    elif _EXPORTED_STAR.match(text):
        found.append(Import("", module, ALL))
    if default := _DEFAULT.match(text):
        found.append(Import(default[1], module, "default"))
    if braces := _BRACES.search(text[: source.start()] or ""):
        for part in _COMMENT.sub("", braces[1]).split(","):
            name, alias = _renamed(part.strip().removeprefix("type "), " as ", ":")
            if name:
                found.append(Import(alias, module, name))
    return found


def _exports(text: str) -> list[Import]:
    """What a file passes on of its own, under another name: ``module`` is the file itself."""
    if found := _EXPORTED_DEFAULT.match(text):
        # An object of functions stands for the functions.
        return [Import("default", "", found[1] or "")]
    braces = _EXPORTED_NAMES.match(text)
    parts = _COMMENT.sub("", braces[1]).split(",") if braces else []
    pairs = (_renamed(part, " as ") for part in parts)
    return [Import(alias, "", name) for name, alias in pairs if name != alias]


def required(text: str, alias: str) -> list[Import]:
    """Const alias = require("m")."""
    source = _SOURCE.match(text)
    return [Import(alias, source[1])] if source else []


def java_imports(text: str) -> list[Import]:
    """Import a.b.C; import static a.B.c; import a.b.*; a.b.{C, D => E} of Scala; a.C as D."""
    said = text.strip().rstrip(";").removeprefix("import").strip().removeprefix("static ").strip()
    head, brace, names = said.partition("{")
    if brace:
        module = head.strip().rstrip(".")
        parts = (_renamed(part, "=>", " as ") for part in names.rstrip("} \n").split(","))
        return [Import(alias, module, name) for name, alias in parts if name]
    path, alias = _renamed(said, " as ")
    module, _, name = path.rpartition(".")
    if name in {"*", "_"}:
        return [Import("", module, ALL)]
    return [Import(alias if " as " in said else name, module, name)]


def go_imports(text: str) -> list[Import]:
    """X "a/b/c"; the name of a package is taken to be the last word of its path."""
    alias, _, path = text.strip().rpartition(" ")
    module = path.strip("\"'`")
    if alias == ".":
        return [Import("", module, ALL)]
    parts = [part for part in module.split("/") if not re.fullmatch(r"v\d+", part)]
    name = parts[-1].removeprefix("go-").removesuffix("-go") if parts else ""
    return [Import(alias or name, module)]


def rust_imports(text: str) -> list[Import]:
    """Use a::b::{C, d as e, self}; use a::*."""
    said = " ".join(_COMMENT.sub("", text).split())
    said = said[said.find("use ") + 4 :].rstrip("; ")
    return _use_tree("", said)


def php_imports(text: str) -> list[Import]:
    r"""Use A\B\C as D, a function or a constant too."""
    said = text.strip().rstrip(";").removeprefix("use ").strip()
    said = said.removeprefix("function ").removeprefix("const ")
    found = []
    for part in said.split(","):
        path, alias = _renamed(part, " as ")
        module, _, name = path.strip("\\").rpartition("\\")
        found.append(Import(alias if " as " in part else name, module.replace("\\", "."), name))
    return found


def ruby_imports(text: str) -> list[Import]:
    """require_relative "a/b": all of it."""
    loaded = _LOADED.match(text)
    return [Import("", loaded[1], ALL)] if loaded else []


def _python_module(part: str) -> Import:
    name, alias = _renamed(part, " as ")
    # import a.b binds a, and calls say a.b.f().
    return Import(alias, name)


def _renamed(part: str, *marks: str) -> tuple[str, str]:
    """What is imported, and what it is called here."""
    for mark in marks:
        name, found, alias = part.partition(mark)
        if found:
            return name.strip(), alias.strip()
    return part.strip(), part.strip()


def _use_tree(prefix: str, said: str) -> list[Import]:
    head, brace, inner = said.partition("{")
    if brace:
        path = "::".join(part for part in (prefix, head.rstrip(":").strip()) if part)
        return [
            each
            for part in _split_outside(inner.strip().removesuffix("}"))
            for each in _use_tree(path, part.strip())
            if part.strip()
        ]
    path, alias = _renamed(said, " as ")
    whole = "::".join(part for part in (prefix, path) if part)
    module, _, name = whole.rpartition("::")
    if name == ALL:
        return [Import("", module, ALL)]
    if name == "self":
        last = module.rpartition("::")[2]
        return [Import(alias if " as " in said else last, module)]
    return [Import(alias if " as " in said else name, module, name)]


def _split_outside(text: str) -> list[str]:
    """Split at commas that are in no braces."""
    parts, depth = [""], 0
    for character in text:
        depth += {"{": 1, "}": -1}.get(character, 0)
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts
