"""Which files of the repository a module is; none for a module from elsewhere."""

from collections.abc import Iterable
from posixpath import normpath

from kernel.callgraph.memory import Memory

_SCRIPTS = (".ts", ".tsx", ".d.ts", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts")
_SCRIPT_ENDS = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx")
# Folders that a package's own path does not name.
_UNNAMED = frozenset({"src", "lib", "source", "main", "java", "kotlin", "scala", "dist", "index"})
# The first of them that has what is imported is meant.
MOST_CANDIDATES = 4
_HOMES = ("packages/", "src/", "lib/")
_STANDARD = frozenset({"std", "core", "alloc"})
_HERE = frozenset({"crate", "self", "super", "@", "~", "#", ""})


def python_files(memory: Memory, module: str, importer: str) -> list[int]:
    """The file of a Python module: beside the importer, or wherever a path ends like it."""
    name = module.lstrip(".")
    dots = len(module) - len(name)
    parts = name.split(".") if name else []
    if dots:
        folders = importer.split("/")[:-dots] if dots <= importer.count("/") + 1 else []
        target = "/".join([*folders, *parts])
        places = [f"{target}{end}" for end in (".py", "/__init__.py", ".pyi", "/__init__.pyi")]
        places = [place.lstrip("/") for place in places]
        return _first_at(memory, places)
    return _least_deep(
        (file, path)
        for file, path in memory.files_with_stem(parts[-1])
        if _ends_like(_module_parts(path), parts) and path.endswith((".py", ".pyi"))
    )


def javascript_files(memory: Memory, module: str, importer: str) -> list[int]:
    """The file of a JavaScript module: a relative path, or a package of this repository."""
    if module.startswith("."):
        target = normpath(f"{importer.rpartition('/')[0]}/{module}").lstrip("/")
        target = "" if target == "." else target
        without = (target.removesuffix(end) for end in _SCRIPT_ENDS if target.endswith(end))
        places = [target] if target.endswith(_SCRIPT_ENDS) else []
        places += [f"{stem}{end}" for stem in (target, *without) for end in _SCRIPTS]
        places += [f"{target}/index{end}".lstrip("/") for end in _SCRIPTS]
        return _first_at(memory, places)
    parts = [part for part in module.split("/") if part and part[0] not in "@~#"]
    if not parts:
        return []
    parts[-1] = parts[-1].split(".")[0]
    return _least_deep(
        (file, path)
        for stem in {parts[-1], "src"}
        for file, path in memory.files_with_stem(stem)
        if path.endswith(_SCRIPTS)
        and _ends_like(_named_parts(path), parts)
        # express is a package from elsewhere, whatever src/express.ts is.
        and (len(parts) > 1 or path.rpartition("/")[2].startswith("index."))
    )


def lies_in(path: str, owner: str, module: str, *, exactly: bool) -> bool:
    """Whether a definition at a path, inside ``owner``, may be what a module of its words holds."""
    words = [word for word in module.replace("::", "/").replace(".", "/").split("/") if word]
    if words and words[0] in _STANDARD:
        return False
    words = [word for word in words if word not in _HERE]
    if not words:
        return True
    # Outer.Inner of Java, and modules inside of files in Rust.
    inner = [name for name in owner.split(".") if name]
    if exactly:  # the folders are those of the package, at least its last two
        whole = "/".join(("", path.rpartition(".")[0], *inner, ""))
        return (not inner or inner[-1] in words) and f"/{'/'.join(words[-2:])}/" in whole
    places = [*_named_parts(path), *inner]
    return words[-1] in places or words[-1].removeprefix("go-") in places


def _first_at(memory: Memory, places: Iterable[str]) -> list[int]:
    return [found for place in places if (found := memory.file_at(place)) is not None][:1]


def _least_deep(files: Iterable[tuple[int, str]]) -> list[int]:
    """Some of the files, the best first: examples and vendored copies lie elsewhere, or deeper."""

    def order(one: tuple[int, str]) -> tuple[bool, bool, int, str]:
        path = one[1]
        declares = path.endswith(".d.ts")
        return declares, not path.startswith(_HOMES), path.count("/"), path

    return [file for file, _ in sorted(files, key=order)[:MOST_CANDIDATES]]


def _module_parts(path: str) -> list[str]:
    parts = path.rpartition(".")[0].split("/")
    return parts[:-1] if parts[-1] == "__init__" else parts


def _named_parts(path: str) -> list[str]:
    folder, _, name = path.rpartition("/")
    parts = [*folder.split("/"), name.split(".", 1)[0]]
    return [part for part in parts if part and part not in _UNNAMED]


def _ends_like(parts: list[str], wanted: list[str]) -> bool:
    return len(parts) >= len(wanted) and parts[len(parts) - len(wanted) :] == wanted
