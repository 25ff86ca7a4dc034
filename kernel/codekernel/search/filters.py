"""Search filters (lang:, path:, file:, symbol:.

Each also negated) and the error with near spellings for a value that nothing has. Filters of
one kind are alternatives, filters of different kinds must all match, a negated filter always
excludes; matching ignores case.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import islice

from codekernel.domain.index import IndexedChunk
from codekernel.domain.source_files import LANGUAGE_NAMES, UNKNOWN_LANGUAGE, detect_language
from codekernel.domain.untrusted_text import encode_path
from codekernel.errors import WrongParam

MAX_SUGGESTIONS = 4

MIN_SIMILARITY = 0.6

# Comparing a value with one name takes some microseconds.
MAX_COMPARED_NAMES = 50_000


def build_unknown_value_error(message: str, value: str, known: Iterable[str]) -> WrongParam:
    """What to raise: a sentence about the value, and the near ones."""
    import difflib  # noqa: PLC0415 - seldom needed, and every search would wait for it

    by_small: dict[str, str] = {}
    for name in islice(known, MAX_COMPARED_NAMES):
        by_small.setdefault(name.lower(), name)
    near = difflib.get_close_matches(value.lower(), by_small, MAX_SUGGESTIONS, MIN_SIMILARITY)
    shown = ", ".join(encode_path(by_small[name]) for name in near)
    return WrongParam(f"{message}; near: {shown}" if near else f"{message}, nor anything like it")


# What people call a language where that is no extension of its files, and one that is.
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

# Who asks for JavaScript or TypeScript wants its dialects with markup too.
_DIALECTS = {"javascript": {"jsx"}, "typescript": {"tsx"}}

_PLAIN_TEXT = frozenset({"text", "txt", "log"})

_WILDCARD = re.compile(r"[*?]")

_NAME_SEPARATOR = re.compile(r"::|->|[.#>]")

_PATH_MATCH_CACHE_SIZE = 65_536


@dataclass(frozen=True, slots=True)
class Filters:
    """What a chunk must and must not be; values as they were typed, languages by their names."""

    languages: frozenset[str] = frozenset()
    not_languages: frozenset[str] = frozenset()
    paths: tuple[str, ...] = ()
    not_paths: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    not_files: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    not_symbols: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether every chunk is accepted."""
        return self == _NO_FILTERS

    @property
    def names_as_text(self) -> str:
        """What to look for if nothing else was asked: the names that the filters mention."""
        return " ".join((*self.symbols, *self.files, *self.paths))

    def accepts(self, chunk: IndexedChunk) -> bool:
        """Whether a chunk may be shown."""
        return self.accepts_file(chunk.path, chunk.language) and _is_allowed(
            self.symbols,
            self.not_symbols,
            lambda name: has_symbol(name, chunk.chunk.symbols, chunk.chunk.defined_names),
        )

    def accepts_file(self, path: str, language: str) -> bool:
        """Whether chunks of a file may be shown at all."""
        name = path.rpartition("/")[2]
        return (
            (not self.languages or language in self.languages)
            and language not in self.not_languages
            and _is_allowed(self.paths, self.not_paths, lambda value: is_path_match(value, path))
            and _is_allowed(self.files, self.not_files, lambda value: is_path_match(value, name))
        )


_NO_FILTERS = Filters()


def resolve_languages(name: str) -> frozenset[str]:
    """The languages of the index that a person means; none if nobody calls one so."""
    name = name.lower()
    extension = _LANGUAGE_ALIASES.get(name, name)
    language = detect_language(extension if "." in extension else f"name.{extension}")
    if language == UNKNOWN_LANGUAGE and name not in _PLAIN_TEXT:
        return frozenset()
    return frozenset({language} | _DIALECTS.get(language, set()))


def list_language_names() -> tuple[str, ...]:
    """What languages may be called, but for the extensions of their files."""
    return tuple(dict.fromkeys((*LANGUAGE_NAMES, *_LANGUAGE_ALIASES)))


@lru_cache(_PATH_MATCH_CACHE_SIZE)
def is_path_match(value: str, path: str) -> bool:
    """Whether a path contains ``value``, or some of its folders and names match it as a glob.

    ``*`` stands for any part of a name, ``**`` for any number of folders, ``?`` for a character; a
    slash in front means the root of the repository in a glob, the beginning of a name otherwise.
    """
    value, path = value.replace("\\", "/").lower(), path.lower()
    if not _WILDCARD.search(value):
        return value in f"/{path}"
    anchored = value.startswith("/")
    wanted = [part for part in value.split("/") if part]
    return _is_glob_match([*([] if anchored else ["**"]), *wanted, "**"], path.split("/"))


def _is_glob_match(wanted: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether the globs match all parts: places reached so far, glob by glob."""
    reached = {0}
    for glob in wanted:
        if glob == "**":
            reached = set(range(min(reached), len(parts) + 1))
        else:
            # A bracket is a character as any other: folders are called [id].
            plain = glob.replace("[", "[[]")
            reached = {
                place + 1
                for place in reached
                if place < len(parts) and fnmatchcase(parts[place], plain)
            }
        if not reached:
            return False
    return len(parts) in reached


def _is_allowed(wanted: Sequence[str], unwanted: Sequence[str], has: Callable[[str], bool]) -> bool:
    return (not wanted or any(map(has, wanted))) and not any(map(has, unwanted))


def has_symbol(value: str, symbols: Sequence[str], defines: Sequence[str]) -> bool:
    """Whether a chunk with these names defines, or is inside, something of this name."""
    value = value.lower().removesuffix("()")
    plain = value.replace("[", "[[]")
    qualified = bool(_NAME_SEPARATOR.search(value))
    if qualified:
        enclosing = ".".join(symbols).lower()
        if f".{enclosing}.".find("." + _NAME_SEPARATOR.sub(".", value) + ".") >= 0:
            return True
    for name in (*symbols, *defines):
        whole = name.lower()
        own = _NAME_SEPARATOR.split(whole)[-1]
        if fnmatchcase(whole, plain) or (not qualified and fnmatchcase(own, plain)):
            return True
    return False
