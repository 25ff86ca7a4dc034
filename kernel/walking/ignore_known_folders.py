"""Folders of dependencies and build results, known by name, for trees without git.

Where git looks after a tree its own rules say what is left out, and nothing here is asked.
"""

import os

# Never entered, git or not: the books of version control and of this program's front end.
NEVER_ENTERED = frozenset({".git", ".hg", ".svn", ".PocketRAG"})

_ALWAYS = frozenset(
    {
        "node_modules",
        "bower_components",
        "jspm_packages",
        "__pycache__",
        "__pypackages__",
        ".venv",
        ".tox",
        ".nox",
        ".eggs",
        ".mypy_cache",
        ".pytest_cache",
        ".ruff_cache",
        ".hypothesis",
        ".ipynb_checkpoints",
        ".gradle",
        ".next",
        ".nuxt",
        ".svelte-kit",
        ".parcel-cache",
        ".turbo",
        ".terraform",
        ".dart_tool",
        ".stack-work",
        ".zig-cache",
        "zig-cache",
        "elm-stuff",
        "DerivedData",
    }
)
# Common words, and so only beside a file that gives them away.
_WITH_A_SIGN: dict[str, tuple[str, ...]] = {
    "target": ("Cargo.toml", "pom.xml", "build.sbt"),
    "build": ("build.gradle", "build.gradle.kts", "CMakeLists.txt", "setup.py", "pubspec.yaml"),
    "dist": ("package.json", "setup.py", "pyproject.toml"),
    "vendor": ("composer.json", "go.mod", "Gemfile"),
    "Pods": ("Podfile",),
    "deps": ("mix.exs",),
    "_build": ("mix.exs", "rebar.config", "dune-project"),
    "dist-newstyle": ("cabal.project",),
    "bin": (".csproj", ".fsproj"),
    "obj": (".csproj", ".fsproj"),
}
# A file in a folder that says what the folder is.
_INSIDE = ("pyvenv.cfg", "CACHEDIR.TAG")


def known_folder(parent: str, name: str) -> str | None:
    """Why the folder ``name`` in ``parent`` holds nobody's own work; None if it may."""
    if name in _ALWAYS:
        return f"built-in rule for folders without git: {name}/"
    for sign in _INSIDE:
        if os.path.lexists(os.path.join(parent, name, sign)):  # noqa: PTH118  # in the walk's loop
            return f"built-in rule for folders without git: a folder with {sign}"
    signs = _WITH_A_SIGN.get(name)
    if signs:
        try:
            beside = os.listdir(parent)  # noqa: PTH208  # names are all that is asked for
        except OSError:
            return None
        for found in beside:
            if found in signs or os.path.splitext(found)[1] in signs:  # noqa: PTH122  # a name
                return f"built-in rule for folders without git: {name}/ beside {found}"
    return None
