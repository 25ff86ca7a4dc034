"""Source files: found, skipped with a reason, or read; and language detection by file name."""

from dataclasses import dataclass
from enum import StrEnum


class SkipReason(StrEnum):
    """Why a file is not indexed; the words are stored and shown, so they stay as they are."""

    IGNORED = "ignored"  # by .gitignore, .codekernelignore, git's excludes or a built-in rule
    TOO_LARGE = "too-large"
    BINARY = "binary"
    MINIFIED = "minified"
    GENERATED = "generated"  # says so itself, or is a lock file or a source map
    LINK = "link"  # leads to a place inside the repository, where the file is indexed
    OUTSIDE = "outside"  # a link, or a path asked for, that leaves the repository
    NOT_A_FILE = "not-a-file"  # a pipe, socket, device, or a folder
    UNREADABLE = "unreadable"  # the system refuses
    UNDECODABLE = "undecodable"  # no encoding we know makes text of it
    CHANGING = "changing"  # written to faster than it could be read
    VANISHED = "vanished"


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A file to index; ``path`` is relative, '/'-separated, odd bytes in it as surrogates."""

    path: str
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class SkippedPath:
    """A file that is not indexed; with a '/' at the end of ``path``, a whole folder.

    ``detail`` is for a person and names the rule: ``.gitignore line 3: *.log``.
    """

    path: str
    reason: SkipReason
    detail: str


@dataclass(frozen=True, slots=True)
class SourceText:
    """The text of a file, line ends as they are, a byte order mark taken off.

    ``digest`` is of the raw bytes; size and time of change are those the bytes were read at.
    """

    text: str
    encoding: str
    size: int
    mtime_ns: int
    digest: bytes


# Names that say it all, in small letters.
_LANGUAGE_BY_NAME = {
    "dockerfile": "dockerfile",
    "containerfile": "dockerfile",
    "makefile": "make",
    "gnumakefile": "make",
    "justfile": "make",
    "cmakelists.txt": "cmake",
    "meson.build": "meson",
    "build": "starlark",
    "build.bazel": "starlark",
    "workspace": "starlark",
    "rakefile": "ruby",
    "gemfile": "ruby",
    "podfile": "ruby",
    "vagrantfile": "ruby",
    "brewfile": "ruby",
    "config.ru": "ruby",
    "jenkinsfile": "groovy",
    "pipfile": "toml",
    "cargo.lock": "toml",
    "poetry.lock": "toml",
    "uv.lock": "toml",
    "composer.lock": "json",
    "sconstruct": "python",
    "sconscript": "python",
    ".bashrc": "bash",
    ".bash_profile": "bash",
    ".bash_aliases": "bash",
    ".profile": "bash",
    ".zshrc": "bash",
    ".zshenv": "bash",
    ".zprofile": "bash",
    ".env": "bash",
    ".envrc": "bash",
    "pkgbuild": "bash",
    ".vimrc": "vim",
    ".babelrc": "json",
    ".eslintrc": "json",
    ".prettierrc": "json",
    ".clang-format": "yaml",
    ".clang-tidy": "yaml",
    ".gitignore": "ignore",
    ".dockerignore": "ignore",
    ".gitattributes": "ignore",
    ".gitmodules": "ini",
    ".gitconfig": "ini",
    ".editorconfig": "ini",
    ".npmrc": "ini",
    "go.mod": "gomod",
    "go.sum": "text",
    "codeowners": "ignore",
    "changelog": "text",
    "license": "text",
    "readme": "text",
}

_EXTENSIONS_BY_LANGUAGE = {
    "python": "py pyi pyw pyx pxd wsgi",
    "javascript": "js mjs cjs es6",
    "jsx": "jsx",
    "typescript": "ts mts cts",
    "tsx": "tsx",
    "java": "java",
    "kotlin": "kt kts",
    "go": "go",
    "rust": "rs",
    "c": "c h",
    "cpp": "cc cpp cxx c++ hh hpp hxx h++ ipp inl tpp ixx cppm cu cuh ino",
    "csharp": "cs csx",
    "ruby": "rb rake gemspec ru podspec jbuilder",
    "php": "php phtml php3 php4 php5 php7 php8",
    "swift": "swift",
    "scala": "scala sc sbt",
    "lua": "lua luau rockspec",
    "bash": "sh bash zsh ksh bats ebuild",
    "haskell": "hs hs-boot",
    "elixir": "ex exs",
    "zig": "zig zon",
    "sql": "sql ddl dml psql pgsql",
    "html": "html htm xhtml",
    "css": "css",
    "json": "json jsonc json5 geojson webmanifest jsonld har topojson",
    "yaml": "yaml yml",
    "toml": "toml",
    "vue": "vue",
    "svelte": "svelte",
    "markdown": "md markdown mdx mdown mkd qmd rmd",
    "rst": "rst rest",
    "notebook": "ipynb",
    "scss": "scss sass",
    "less": "less",
    "astro": "astro",
    "dart": "dart",
    "r": "r",
    "julia": "jl",
    "perl": "pl pm t pod",
    "raku": "raku rakumod",
    "vim": "vim",
    "protobuf": "proto",
    "thrift": "thrift",
    "graphql": "graphql gql graphqls",
    "ini": "ini cfg conf properties desktop service",
    "xml": "xml xsd xsl xslt plist csproj fsproj vbproj props targets pom xaml resx svg wsdl",
    "csv": "csv tsv psv",
    "objc": "m mm",
    "groovy": "groovy gradle gvy",
    "clojure": "clj cljs cljc edn",
    "erlang": "erl hrl",
    "ocaml": "ml mli",
    "fsharp": "fs fsi fsx",
    "visualbasic": "vb bas",
    "powershell": "ps1 psm1 psd1",
    "batch": "bat cmd",
    "fish": "fish",
    "nushell": "nu",
    "nim": "nim nims",
    "crystal": "cr",
    "d": "d",
    "v": "v vsh",
    "verilog": "sv svh vh",
    "vhdl": "vhd vhdl",
    "fortran": "f f77 f90 f95 f03 f08 for",
    "pascal": "pas pp dpr",
    "ada": "adb ads",
    "cobol": "cob cbl",
    "lisp": "lisp lsp cl",
    "elisp": "el",
    "scheme": "scm ss",
    "racket": "rkt",
    "prolog": "pro",
    "assembly": "s asm",
    "solidity": "sol",
    "move": "move",
    "terraform": "tf tfvars hcl",
    "nix": "nix",
    "starlark": "bzl star",
    "cmake": "cmake",
    "make": "mk mak",
    "dockerfile": "dockerfile",
    "jinja": "j2 jinja jinja2",
    "handlebars": "hbs handlebars mustache",
    "erb": "erb",
    "ejs": "ejs",
    "eex": "eex heex leex",
    "pug": "pug jade",
    "haml": "haml",
    "liquid": "liquid",
    "twig": "twig",
    "razor": "cshtml razor",
    "latex": "tex sty cls bib",
    "asciidoc": "adoc asciidoc",
    "org": "org",
    "glsl": "glsl vert frag geom comp",
    "hlsl": "hlsl fx",
    "wgsl": "wgsl",
    "metal": "metal",
    "gdscript": "gd",
    "elm": "elm",
    "purescript": "purs",
    "reason": "re rei res resi",
    "coffeescript": "coffee",
    "haxe": "hx",
    "awk": "awk",
    "tcl": "tcl",
    "matlab": "mat mlx",
    "sas": "sas",
    "stata": "do ado",
    "apex": "apex trigger",
    "cuda": "ptx",
    "wasm": "wat wast",
    "diff": "diff patch",
    "text": "txt text log",
}

_LANGUAGE_BY_EXTENSION = {
    extension: language
    for language, extensions in _EXTENSIONS_BY_LANGUAGE.items()
    for extension in extensions.split()
}

# What languages are called here.
LANGUAGE_NAMES = tuple(_EXTENSIONS_BY_LANGUAGE)

UNKNOWN_LANGUAGE = "text"


def detect_language(path: str) -> str:
    """The language of the file at ``path``, in small letters; "text" if its name says nothing."""
    name = path.replace("\\", "/").rpartition("/")[2].lower()
    known = _LANGUAGE_BY_NAME.get(name)
    if known:
        return known
    stem, dot, extension = name.rpartition(".")
    if dot and stem:
        known = _LANGUAGE_BY_EXTENSION.get(extension)
        if known:
            return known
    # Dockerfile.dev, Makefile.am: the first word says it.
    return _LANGUAGE_BY_NAME.get(name.partition(".")[0], UNKNOWN_LANGUAGE)
