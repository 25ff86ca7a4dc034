"""Which paths are worth telling: everything, but inside ``.git`` only what changes the walk.

``.git/info/exclude`` is a list of ignored files; ``HEAD`` changes when a branch is switched and
not when one commits. ``.git/index`` is left out: ``git status`` alone rewrites it, and a checkout
shows in the files themselves. ``.git`` itself is told when it comes or goes (``git init`` brings
ignore rules into force).
"""

GIT_FOLDER = ".git"
GIT_FILES_TOLD = frozenset({"HEAD", "info/exclude"})
# Of the folders in .git only this one holds something told; objects/ alone has 256 more.
GIT_FOLDERS_WATCHED = frozenset({"info"})


def is_told(path: str) -> bool:
    """True if a change of ``path`` (a file, or a folder) is news."""
    inside = inside_git(path)
    return inside is None or inside in GIT_FILES_TOLD


def may_hold_news(folder: str) -> bool:
    """True if something in ``folder`` could be news, so that it is worth watching."""
    inside = inside_git(folder)
    return inside is None or inside in GIT_FOLDERS_WATCHED


def inside_git(path: str) -> str | None:
    """What follows ``.git/`` in ``path``, for the repository or one within it; None elsewhere."""
    if GIT_FOLDER not in path:
        return None
    parts = path.split("/")
    if GIT_FOLDER not in parts[:-1]:
        return None
    return "/".join(parts[parts.index(GIT_FOLDER) + 1 :])
