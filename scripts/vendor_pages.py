"""Write electron-bridge/app/pages/vendor: the libraries of the pages, as files a browser imports.

``python scripts/vendor_pages.py`` after changing the table; needs npm and the network. What is in
a package is taken only if the package has the hash of the table. A test checks the files offline.
"""

import base64
import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENDOR = ROOT / "electron-bridge" / "app" / "pages" / "vendor"

_LIT_DIRECTIVES = ("class-map", "guard", "keyed", "live", "ref", "repeat", "when")
_LIT_PARTS = ("lit-html", "directive", "directive-helpers", "async-directive")
# What kernel/codekernel/domain/index.py tells apart and highlight.js knows; zig it does not.
_LANGUAGES = (
    "bash", "c", "clojure", "cmake", "cpp", "csharp", "css", "dart", "diff", "dockerfile", "dos",
    "elixir", "erlang", "fsharp", "go", "graphql", "groovy", "haskell", "ini", "java", "javascript",
    "json", "julia", "kotlin", "latex", "less", "lua", "makefile", "markdown", "nim", "nix",
    "objectivec", "ocaml", "perl", "php", "powershell", "protobuf", "python", "r", "ruby", "rust",
    "scala", "scheme", "scss", "shell", "sql", "swift", "typescript", "vim", "xml", "yaml",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Package:
    """One version of one npm package, and what is taken from it: path in it -> path in vendor."""

    name: str
    version: str
    integrity: str
    licence: str
    purpose: str
    files: dict[str, str]


PACKAGES = (
    Package(
        "lit-html",
        "3.3.3",
        "sha512-el8M6jK2o3RXBnrSHX3ZKrsN8zEV63pSExTO1wYJz7QndGYZ8353e2a5PPX+qHe2aGayfnchQmkAojaWAREOIA==",
        "BSD-3-Clause",
        "templates",
        {
            "LICENSE": "lit-html/LICENSE",
            **{f"{part}.js": f"lit-html/{part}.js" for part in _LIT_PARTS},
            **{
                f"directives/{name}.js": f"lit-html/directives/{name}.js"
                for name in _LIT_DIRECTIVES
            },
        },
    ),
    Package(
        "marked",
        "18.2.0",
        "sha512-KaeL+tAbtvI930q7HE2PN5lYXYdT8EiSmxHlN6F3rsfb57wd5mp5W5TLazpdj4inTQBJdgjYwbs40W/0VUGU+Q==",
        "MIT",
        "Markdown to tokens",
        {"LICENSE": "marked/LICENSE", "lib/marked.esm.js": "marked/marked.esm.js"},
    ),
    Package(
        "@highlightjs/cdn-assets",
        "11.12.0",
        "sha512-KvOKXODaiFmId9xaq3xc5xCL66wVLUuOngDbO9B/kewbFTqdGbn2nJxNhN3H5R1cgDTVj6R8vH0zgiNDEGjpDw==",
        "BSD-3-Clause",
        "colours of code",
        {
            "LICENSE": "highlight/LICENSE",
            "es/core.min.js": "highlight/core.min.js",
            **{
                f"es/languages/{name}.min.js": f"highlight/languages/{name}.min.js"
                for name in _LANGUAGES
            },
        },
    ),
)


def main() -> int:
    """Replace the folder by what the table says."""
    npm = shutil.which("npm")
    if npm is None:
        sys.exit("npm is not on PATH; it comes with Node.js, and it fetches the packages.")
    contents: dict[str, bytes] = {}
    for package in PACKAGES:
        contents |= _extract(package, _pack(npm, package))
    contents["README.md"] = _readme().encode()
    contents["files.json"] = _listing(contents).encode()
    shutil.rmtree(VENDOR, ignore_errors=True)
    for path, content in contents.items():
        target = VENDOR / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    print(f"{len(contents)} files in {VENDOR.relative_to(ROOT).as_posix()}")
    return 0


def _pack(npm: str, package: Package) -> bytes:
    """The package's archive, fetched by npm and held to its hash."""
    wanted = f"{package.name}@{package.version}"
    with tempfile.TemporaryDirectory() as folder:
        command = [npm, "pack", "--silent", "--pack-destination", folder, wanted]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        (archive,) = Path(folder).glob("*.tgz")
        content = archive.read_bytes()
    found = "sha512-" + base64.b64encode(hashlib.sha512(content).digest()).decode()
    if found != package.integrity:
        sys.exit(f"{wanted} has the hash {found}, but the table says {package.integrity}.")
    return content


def _extract(package: Package, archive: bytes) -> dict[str, bytes]:
    contents = {}
    with tempfile.TemporaryFile() as file:
        file.write(archive)
        file.seek(0)
        with tarfile.open(fileobj=file, mode="r:gz") as tar:
            for inside, path in package.files.items():
                member = tar.extractfile(f"package/{inside}")
                if member is None:
                    sys.exit(f"{package.name}: {inside} is not a file.")
                contents[path] = member.read()
    return contents


def _readme() -> str:
    rows = [
        f"| {package.name} | {package.version} | {package.licence} | {package.purpose} |"
        for package in PACKAGES
    ]
    return "\n".join(
        [
            "# Libraries of the pages",
            "",
            "Made by `python scripts/vendor_pages.py`. Do not edit: a test compares `files.json`.",
            "The files are those of the npm packages, unchanged; what is not needed is left out.",
            "",
            "| package | version | licence | for |",
            "|---|---|---|---|",
            *rows,
            "",
            "Why these, and what else was weighed: docs/dependencies.md.",
            "",
        ]
    )


def _listing(contents: dict[str, bytes]) -> str:
    hashes = {path: hashlib.sha256(contents[path]).hexdigest() for path in sorted(contents)}
    return json.dumps(hashes, indent=2) + "\n"


if __name__ == "__main__":
    sys.exit(main())
