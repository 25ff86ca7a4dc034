"""Search filters: lang: path: file: kind: symbol: scope: repo:, each also negated with a minus.

Filters of one kind are alternatives, filters of different kinds must all match, a negated filter
always excludes; matching ignores case. A value that nothing has is an error with near spellings.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING

from codekernel.domain.index import LANGUAGE_NAMES, UNKNOWN_LANGUAGE, IndexedChunk, detect_language
from codekernel.domain.untrusted_text import encode_path
from codekernel.errors import WrongParam
from codekernel.search.file_kinds import FILE_KINDS, detect_file_kind

if TYPE_CHECKING:  # a terminal reads filters, too, and needs no SQLite
    from codekernel.search.searchable import SearchableCatalog

MAX_SUGGESTIONS = 4

MIN_SIMILARITY = 0.6

# Before the names that are like an unknown one.
NEAR_MARK = "; near: "

# Comparing a value with one name takes some microseconds.
MAX_COMPARED_NAMES = 50_000

# In larger repositories an unknown symbol is no error, because the check would take too long.
MAX_CHECKED_SYMBOLS = 100_000

_PATH_MATCH_CACHE_SIZE = 65_536


def build_unknown_value_error(message: str, value: str, known: Iterable[str]) -> WrongParam:
    """Return the error to raise for a value, with the most similar of the known ones."""
    import difflib  # noqa: PLC0415 - seldom needed, and a terminal's search has to be small

    by_lower: dict[str, str] = {}
    for name in islice(known, MAX_COMPARED_NAMES):
        by_lower.setdefault(name.lower(), name)
    near = difflib.get_close_matches(value.lower(), by_lower, MAX_SUGGESTIONS, MIN_SIMILARITY)
    shown = ", ".join(encode_path(by_lower[name]) for name in near)
    return WrongParam(
        f"{message}{NEAR_MARK}{shown}" if near else f"{message}, nor anything like it"
    )


# Names of languages that are no file extension, each with an extension of that language.
_LANGUAGE_ALIAS_TEXT = (
    "python=py javascript=js typescript=ts kotlin=kt rust=rs csharp=cs c#=cs fsharp=fs f#=fs "
    "golang=go ruby=rb shell=sh haskell=hs elixir=ex objc=m objective-c=m objectivec=m "
    "notebook=ipynb jupyter=ipynb julia=jl perl=pl protobuf=proto terraform=tf latex=tex "
    "make=mk makefile=mk docker=dockerfile assembly=asm visualbasic=vb powershell=ps1 "
    "batch=bat nushell=nu crystal=cr verilog=sv fortran=f90 pascal=pas ada=adb cobol=cob "
    "elisp=el scheme=scm racket=rkt prolog=pro solidity=sol starlark=bzl bazel=bzl "
    "handlebars=hbs razor=cshtml asciidoc=adoc gdscript=gd purescript=purs haxe=hx "
    "coffeescript=coffee matlab=mat stata=do cuda=ptx wasm=wat clojure=clj erlang=erl "
    "ocaml=ml meson=meson.build gomod=go.mod ignore=.gitignore"
)

_LANGUAGE_ALIASES = dict(pair.split("=") for pair in _LANGUAGE_ALIAS_TEXT.split())

# lang:javascript and lang:typescript include the dialects with markup.
_DIALECTS = {"javascript": {"jsx"}, "typescript": {"tsx"}}

_PLAIN_TEXT = frozenset({"text", "txt", "log"})

_FILE_KIND_NAMES = {
    **{name: kind for kind in FILE_KINDS for name in (kind, f"{kind}s")},
    "doc": "documentation",
    "docs": "documentation",
}

_WILDCARD = re.compile(r"[*?]")

_NAME_SEPARATOR = re.compile(r"::|->|[.#>]")


@dataclass(frozen=True, slots=True)
class Filters:
    """What a chunk must and must not be: values as typed, languages by the index's names."""

    languages: frozenset[str] = frozenset()
    not_languages: frozenset[str] = frozenset()
    paths: tuple[str, ...] = ()
    not_paths: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    not_files: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    not_symbols: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    not_kinds: tuple[str, ...] = ()
    # Packages by name or folder; resolve_scopes makes folders of them.
    scopes: tuple[str, ...] = ()
    not_scopes: tuple[str, ...] = ()
    # Repositories, chosen before any of them is searched.
    repos: tuple[str, ...] = ()
    not_repos: tuple[str, ...] = ()
    # Who asks may read only the paths that this accepts, and learns of no other.
    is_readable: Callable[[str], bool] | None = None

    @property
    def names_as_text(self) -> str:
        """Return the names in the filters: the query, if there is no other text."""
        return " ".join((*self.symbols, *self.files, *self.paths))

    def accepts(self, chunk: IndexedChunk) -> bool:
        """Return whether a chunk may be a hit."""
        return self.accepts_file(chunk.path, chunk.language) and _is_allowed(
            self.symbols,
            self.not_symbols,
            lambda name: has_symbol(name, chunk.symbols, chunk.defined_names),
        )

    def accepts_file(self, path: str, language: str) -> bool:
        """Return whether any chunk of a file may be a hit."""
        name = path.rpartition("/")[2]
        return (
            (self.is_readable is None or self.is_readable(path))
            and (not self.languages or language in self.languages)
            and language not in self.not_languages
            and _is_allowed(self.paths, self.not_paths, lambda value: is_path_match(value, path))
            and _is_allowed(self.files, self.not_files, lambda value: is_path_match(value, name))
            and _is_allowed(
                self.kinds, self.not_kinds, lambda value: value == detect_file_kind(path)
            )
            and _is_allowed(self.scopes, self.not_scopes, lambda scope: is_below(path, scope))
        )

    def accepts_repo(self, name: str) -> bool:
        """Return whether a repository is to be searched."""
        return _is_allowed(self.repos, self.not_repos, lambda value: _is_name_match(value, name))


NO_FILTERS = Filters()


def raise_for_unknown_filters(filters: Filters, catalog: "SearchableCatalog") -> None:
    """Raise WrongParam if no indexed file or symbol has what a filter names."""
    if filters.is_readable:
        return  # what is near would name what may not be read
    paths = list(catalog.list_files()) if filters.paths or filters.files else []
    names = [path.rpartition("/")[2] for path in paths]
    for part, values, known, near in (
        ("path", filters.paths, paths, _list_path_parts(paths)),
        ("name", filters.files, names, names),
    ):
        for value in values if known else ():
            if not any(is_path_match(value, one) for one in known):
                message = f'no indexed file has "{value}" in its {part}'
                raise build_unknown_value_error(message, value, near)
    for value in filters.symbols:
        pairs = catalog.list_symbol_names(MAX_CHECKED_SYMBOLS)
        is_all = len(pairs) < MAX_CHECKED_SYMBOLS
        if pairs and is_all and not any(has_symbol(value, *pair) for pair in pairs):
            symbols = dict.fromkeys(name for pair in pairs for part in pair for name in part)
            raise build_unknown_value_error(f'nothing indexed is called "{value}"', value, symbols)


def resolve_file_kinds(names: str) -> list[str]:
    """Return kinds of files by their names or plurals; none if one of them is unknown."""
    kinds = [_FILE_KIND_NAMES.get(name.lower()) for name in names.split(",")]
    known = [kind for kind in kinds if kind]
    return known if len(known) == len(kinds) else []


def resolve_languages(name: str) -> frozenset[str]:
    """Return the index's languages for a name or a file extension; none if it is unknown."""
    name = name.lower()
    extension = _LANGUAGE_ALIASES.get(name, name)
    language = detect_language(extension if "." in extension else f"name.{extension}")
    if language == UNKNOWN_LANGUAGE and name not in _PLAIN_TEXT:
        return frozenset()
    return frozenset({language} | _DIALECTS.get(language, set()))


def list_language_names() -> tuple[str, ...]:
    """Return the names of all languages, without their file extensions."""
    return tuple(dict.fromkeys((*LANGUAGE_NAMES, *_LANGUAGE_ALIASES)))


@lru_cache(_PATH_MATCH_CACHE_SIZE)
def is_path_match(value: str, path: str) -> bool:
    """Return whether a path contains ``value``, or some of its parts match it as a glob.

    ``*`` matches any part of a name, ``**`` any number of folders, ``?`` one character; a slash in
    front means the root of the repository in a glob, the beginning of a name otherwise.
    """
    value, path = value.replace("\\", "/").lower(), path.lower()
    if not _WILDCARD.search(value):
        return value in f"/{path}"
    anchored = value.startswith("/")
    wanted = [part for part in value.split("/") if part]
    return _is_glob_match([*([] if anchored else ["**"]), *wanted, "**"], path.split("/"))


def _is_glob_match(wanted: Sequence[str], parts: Sequence[str]) -> bool:
    """Return whether the globs match all parts; ``reached`` is how many the first of them can."""
    reached = {0}
    for glob in wanted:
        if glob == "**":
            reached = set(range(min(reached), len(parts) + 1))
        else:
            # A bracket is an ordinary character: folders are called [id].
            plain = glob.replace("[", "[[]")
            reached = {
                place + 1
                for place in reached
                if place < len(parts) and fnmatchcase(parts[place], plain)
            }
        if not reached:
            return False
    return len(parts) in reached


def is_below(path: str, folder: str) -> bool:
    """Return whether a file is in a folder; the empty one is the root."""
    return not folder or path.startswith(f"{folder}/")


def _is_name_match(value: str, name: str) -> bool:
    return fnmatchcase(name.lower(), value.lower().replace("[", "[[]"))


def _is_allowed(wanted: Sequence[str], unwanted: Sequence[str], has: Callable[[str], bool]) -> bool:
    return (not wanted or any(map(has, wanted))) and not any(map(has, unwanted))


def has_symbol(value: str, symbols: Sequence[str], defines: Sequence[str]) -> bool:
    """Return whether a chunk with these names defines, or is inside of, something called so."""
    value = value.lower().removesuffix("()")
    plain = value.replace("[", "[[]")
    qualified = bool(_NAME_SEPARATOR.search(value))
    if qualified and f".{_NAME_SEPARATOR.sub('.', value)}." in f".{'.'.join(symbols).lower()}.":
        return True
    names = [name.lower() for name in (*symbols, *defines)]
    if not qualified:
        names += [_NAME_SEPARATOR.split(name)[-1] for name in names]
    return any(fnmatchcase(name, plain) for name in names)


def _list_path_parts(paths: Sequence[str]) -> list[str]:
    """Return the names of folders and files, and the whole paths of folders."""
    parts = dict.fromkeys(part for path in paths for part in path.split("/"))
    folders = dict.fromkeys(path.rpartition("/")[0] for path in paths)
    return [*parts, *filter(None, folders)]
