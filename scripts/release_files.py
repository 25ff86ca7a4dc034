"""Write what a release publishes beside its files: ``python scripts/release_files.py FOLDER``.

FOLDER holds the wheel and the packed apps. Into it go SHA256SUMS, the formula for Homebrew, the
manifests for Scoop and winget, and server.json for the registry of MCP servers, with the hashes of
the files that are there. Standard library only; .github/workflows/release.yml runs it.
"""

import argparse
import hashlib
import json
import re
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

from environment import ROOT, RUNTIME_LOCK

REPOSITORY = "https://github.com/codekernel/codekernel"
PUBLISHER, NAME = "codekernel", "codekernel"
WINGET_ID = f"{PUBLISHER}.{NAME}"
WINGET_SCHEMA = "1.10.0"
MCP_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
WINDOWS_APP = "codekernel-win32-X64.zip"
SUMS = "SHA256SUMS"
# As Homebrew names it; pyproject.toml says which are supported.
HOMEBREW_PYTHON = "python@3.13"


@dataclass(frozen=True)
class Release:
    """A version and the files that it consists of."""

    version: str
    description: str
    folder: Path

    def url(self, name: str) -> str:
        """Return where a file of the release can be fetched."""
        return f"{REPOSITORY}/releases/download/v{self.version}/{name}"

    def sha256(self, name: str) -> str:
        """Return the hash of a file that must be there."""
        file = self.folder / name
        if not file.is_file():
            sys.exit(f"{name} is not in {self.folder}; build it before the manifests.")
        return hashlib.sha256(file.read_bytes()).hexdigest()


def main() -> int:
    """Write the files and list them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--version", action="version", version=read_version())
    folder = parser.parse_args().folder
    release = Release(read_version(), read_description(), folder)
    for name, text in build_files(release).items():
        (folder / name).write_text(text, encoding="utf-8")
        print(name)
    (folder / SUMS).write_text(build_sums(release), encoding="utf-8")
    print(SUMS)
    return 0


def read_version() -> str:
    """Return the version of the package, without importing it."""
    text = (ROOT / "kernel" / "codekernel" / "__init__.py").read_text(encoding="utf-8")
    found = re.search(r'^__version__ = "([^"]+)"', text, re.MULTILINE)
    if not found:
        sys.exit("kernel/codekernel/__init__.py has no __version__.")
    return found[1]


def read_description() -> str:
    """Return the sentence of pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    description: str = project["description"]
    return description


def build_files(release: Release) -> dict[str, str]:
    """Return the text of each file by its name."""
    return {
        "codekernel.rb": build_formula(release),
        "codekernel.json": build_scoop(release),
        **build_winget(release),
        "server.json": build_mcp_server(release),
    }


def build_sums(release: Release) -> str:
    """Return a line per file, as ``sha256sum --check`` reads them."""
    files = sorted(each.name for each in release.folder.iterdir() if each.is_file())
    return "".join(f"{release.sha256(name)}  {name}\n" for name in files if name != SUMS)


def build_formula(release: Release) -> str:
    """Return the formula of our tap: the wheel, and its dependencies by the hashes of the lock."""
    wheel = f"{NAME}-{release.version}-py3-none-any.whl"
    lock = hashlib.sha256(RUNTIME_LOCK.read_bytes()).hexdigest()
    tagged = f"{REPOSITORY}/raw/v{release.version}/{RUNTIME_LOCK.name}"
    return f"""class Codekernel < Formula
  desc "{release.description.partition(":")[0]}"
  homepage "{REPOSITORY}"
  url "{release.url(wheel)}", using: :nounzip
  version "{release.version}"
  sha256 "{release.sha256(wheel)}"
  license "MIT"

  depends_on "{HOMEBREW_PYTHON}"

  resource "lock" do
    url "{tagged}"
    sha256 "{lock}"
  end

  def install
    python = Formula["{HOMEBREW_PYTHON}"].opt_libexec/"bin/python"
    system python, "-m", "venv", libexec
    pip = libexec/"bin/pip"
    resource("lock").stage do
      system pip, "install", "--require-hashes", "-r", "{RUNTIME_LOCK.name}"
    end
    system pip, "install", "--no-deps", Dir["*.whl"].first
    bin.install_symlink libexec/"bin/codekernel"
    generate_completions_from_executable(bin/"codekernel", "completion")
  end

  test do
    (testpath/"greet.py").write "def greet(name):\\n    return name\\n"
    ENV["CODEKERNEL_USER_DATA"] = testpath/"userData"
    assert_match "greet.py", shell_output("#{{bin}}/codekernel search --standalone greet")
  end
end
"""


def build_scoop(release: Release) -> str:
    """Return the manifest of a bucket for the packed app."""
    manifest = {
        "version": release.version,
        "description": release.description,
        "homepage": REPOSITORY,
        "license": "MIT",
        "architecture": {
            "64bit": {"url": release.url(WINDOWS_APP), "hash": release.sha256(WINDOWS_APP)}
        },
        "extract_dir": "codekernel-win32",
        "shortcuts": [["codekernel.exe", "codekernel"]],
        "checkver": {"github": REPOSITORY},
        "autoupdate": {
            "architecture": {
                "64bit": {"url": f"{REPOSITORY}/releases/download/v$version/{WINDOWS_APP}"}
            },
            "hash": {"url": f"$baseurl/{SUMS}"},
        },
    }
    return json.dumps(manifest, indent=4) + "\n"


def build_winget(release: Release) -> dict[str, str]:
    """Return the three files of a package: version, installer, texts."""
    common = {"PackageIdentifier": WINGET_ID, "PackageVersion": release.version}
    end = {"ManifestVersion": WINGET_SCHEMA}
    installer = {
        **common,
        "InstallerType": "zip",
        "NestedInstallerType": "portable",
        "NestedInstallerFiles": [
            {
                "RelativeFilePath": "codekernel-win32\\codekernel.exe",
                "PortableCommandAlias": "codekernel-app",
            }
        ],
        "Installers": [
            {
                "Architecture": "x64",
                "InstallerUrl": release.url(WINDOWS_APP),
                "InstallerSha256": release.sha256(WINDOWS_APP).upper(),
            }
        ],
        "ManifestType": "installer",
        **end,
    }
    texts = {
        **common,
        "PackageLocale": "en-US",
        "Publisher": PUBLISHER,
        "PackageName": NAME,
        "PackageUrl": REPOSITORY,
        "License": "MIT",
        "ShortDescription": release.description,
        "ReleaseNotesUrl": f"{REPOSITORY}/releases/tag/v{release.version}",
        "ManifestType": "defaultLocale",
        **end,
    }
    version = {**common, "DefaultLocale": "en-US", "ManifestType": "version", **end}
    # JSON is YAML, so that nothing has to be escaped twice.
    kinds = {"": version, ".installer": installer, ".locale.en-US": texts}
    return {
        f"{WINGET_ID}{kind}.yaml": json.dumps(content, indent=2) + "\n"
        for kind, content in kinds.items()
    }


def build_mcp_server(release: Release) -> str:
    """Return what the registry of MCP servers is told; README.md has its marker."""
    name = f"io.github.{PUBLISHER}/{NAME}"
    server = {
        "$schema": MCP_SCHEMA,
        "name": name,
        "title": NAME,
        "description": "Search your code by words and meaning, offline: search, calls, impact.",
        "repository": {"url": REPOSITORY, "source": "github"},
        "version": release.version,
        "packages": [
            {
                "registryType": "pypi",
                "identifier": NAME,
                "version": release.version,
                "transport": {"type": "stdio"},
                "runtimeHint": "uvx",
                "packageArguments": [{"type": "positional", "value": "mcp"}],
            }
        ],
    }
    return json.dumps(server, indent=2) + "\n"


if __name__ == "__main__":
    sys.exit(main())
