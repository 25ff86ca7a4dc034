"""Pack the VS Code extension: ``python scripts/dist_vscode.py [FILE]``; standard library only.

A .vsix is a zip with two descriptions. Inside, the extension and the bridge lie as in the project,
so that imports hold; nothing is bundled or translated. The same files always give the same bytes.
"""

import json
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from environment import ROOT

BRIDGE = ROOT / "electron-bridge"
EXTENSION = BRIDGE / "vscode"
# Of the bridge and of the app's pages, what the extension imports.
SHIPPED = (
    "src/*.js",
    "app/pages/repository/code/marks.js",
    "app/pages/repository/conversation/citations.js",
    "vscode/src/*.js",
    "vscode/media/*.js",
    "vscode/media/*.css",
    "vscode/media/*.png",
    "vscode/media/*.svg",
)
TIMESTAMP = (1980, 1, 1, 0, 0, 0)
CONTENT_TYPES = {
    ".css": "text/css",
    ".js": "application/javascript",
    ".json": "application/json",
    ".md": "text/markdown",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
    ".vsixmanifest": "text/xml",
}


def main() -> int:
    """Write the file and say where."""
    about = read_package()
    named = [Path(word) for word in sys.argv[1:]]
    file = named[0] if named else ROOT / f"{about['name']}-{about['version']}.vsix"
    pack(file)
    print(file)
    return 0


def read_package() -> dict[str, Any]:
    """Return package.json as the project has it."""
    about: dict[str, Any] = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
    return about


def pack(file: Path) -> None:
    """Write the .vsix."""
    about = read_package()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        _write(archive, "extension.vsixmanifest", build_manifest(about).encode())
        _write(archive, "[Content_Types].xml", _build_content_types().encode())
        shipped = json.dumps(build_shipped_package(about), indent=2, ensure_ascii=False) + "\n"
        _write(archive, "extension/package.json", shipped.encode())
        _write(archive, "extension/README.md", (EXTENSION / "README.md").read_bytes())
        _write(archive, "extension/LICENSE.txt", (ROOT / "LICENSE").read_bytes())
        for path in list_files():
            _write(archive, f"extension/{path}", (BRIDGE / path).read_bytes())


def list_files() -> Iterator[str]:
    """Yield what is packed, relative to electron-bridge/."""
    for pattern in SHIPPED:
        for file in sorted(BRIDGE.glob(pattern)):
            yield file.relative_to(BRIDGE).as_posix()


def build_shipped_package(about: dict[str, Any]) -> dict[str, Any]:
    """Return package.json for its place beside the bridge, one folder up."""
    shipped = json.loads(json.dumps(about).replace('"media/', '"vscode/media/'))
    return {**shipped, "main": f"./vscode/{about['main'].removeprefix('./')}"}


def build_manifest(about: dict[str, Any]) -> str:
    """Return the description that galleries read."""
    properties = {
        "Microsoft.VisualStudio.Code.Engine": about["engines"]["vscode"],
        "Microsoft.VisualStudio.Code.ExtensionKind": ",".join(about["extensionKind"]),
        "Microsoft.VisualStudio.Code.ExtensionDependencies": "",
        "Microsoft.VisualStudio.Code.ExtensionPack": "",
        "Microsoft.VisualStudio.Code.LocalizedLanguages": "",
        "Microsoft.VisualStudio.Services.Links.Source": about["repository"]["url"],
        "Microsoft.VisualStudio.Services.Links.Support": about["bugs"]["url"],
        "Microsoft.VisualStudio.Services.Links.Learn": about["homepage"],
        "Microsoft.VisualStudio.Services.GitHubFlavoredMarkdown": "true",
    }
    rows = "\n".join(
        f"      <Property Id={quoteattr(name)} Value={quoteattr(value)}/>"
        for name, value in properties.items()
    )
    assets = {
        "Microsoft.VisualStudio.Code.Manifest": "extension/package.json",
        "Microsoft.VisualStudio.Services.Content.Details": "extension/README.md",
        "Microsoft.VisualStudio.Services.Content.License": "extension/LICENSE.txt",
        "Microsoft.VisualStudio.Services.Icons.Default": f"extension/vscode/{about['icon']}",
    }
    files = "\n".join(
        f'    <Asset Type={quoteattr(kind)} Path={quoteattr(path)} Addressable="true"/>'
        for kind, path in assets.items()
    )
    identity = f'Id="{about["name"]}" Version="{about["version"]}"'
    return f"""<?xml version="1.0" encoding="utf-8"?>
<PackageManifest Version="2.0.0" xmlns="http://schemas.microsoft.com/developer/vsx-schema/2011">
  <Metadata>
    <Identity Language="en-US" {identity} Publisher={quoteattr(about["publisher"])}/>
    <DisplayName>{escape(about["displayName"])}</DisplayName>
    <Description xml:space="preserve">{escape(about["description"])}</Description>
    <Tags>{escape(",".join(about["keywords"]))}</Tags>
    <Categories>{escape(",".join(about["categories"]))}</Categories>
    <GalleryFlags>Public</GalleryFlags>
    <Properties>
{rows}
    </Properties>
    <License>extension/LICENSE.txt</License>
    <Icon>extension/vscode/{about["icon"]}</Icon>
  </Metadata>
  <Installation>
    <InstallationTarget Id="Microsoft.VisualStudio.Code"/>
  </Installation>
  <Dependencies/>
  <Assets>
{files}
  </Assets>
</PackageManifest>
"""


def _build_content_types() -> str:
    rows = "".join(
        f'<Default Extension="{ending}" ContentType="{kind}"/>'
        for ending, kind in CONTENT_TYPES.items()
    )
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
        f"{rows}</Types>\n"
    )


def _write(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    info = zipfile.ZipInfo(name, TIMESTAMP)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.external_attr = 0o644 << 16
    archive.writestr(info, content)


if __name__ == "__main__":
    sys.exit(main())
