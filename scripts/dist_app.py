"""Electron with the app inside, on each system in its own way."""

import json
import plistlib
import shutil
import struct
import sys
from pathlib import Path

from environment import ROOT

NAME = "codekernel"
IDENTIFIER = "app.codekernel"
BRIDGE = ROOT / "electron-bridge"
APP = BRIDGE / "app"
# What the app is made of, beside the generated package.json.
SHIPPED = ("src", "preload.cjs", "app/main.js", "app/src", "app/pages")
ICON = APP / "pages" / "icons" / "icon-512.png"
# What macOS calls a picture of 512 pixels in an .icns file.
ICNS_512 = b"ic09"
# Where npm puts the official one.
OFFICIAL = APP / "node_modules" / "electron" / "dist"


def electron_folder(given: Path | None) -> Path:
    """The Electron to ship: the official one, unless another folder was given."""
    folder = given or OFFICIAL
    if not folder.is_dir():
        sys.exit(
            f"There is no Electron in {folder}. In electron-bridge/app: npm ci, and then"
            " npx install-electron; or name a folder that has one with --electron."
        )
    return folder


def put_together(electron: Path, out: Path, platform: str) -> Path:
    """Copy Electron and give it our name; the program to start."""
    ignore = shutil.ignore_patterns("default_app.asar")
    if platform == "darwin":
        bundle = out / f"{NAME}.app"
        shutil.copytree(electron / "Electron.app", bundle, symlinks=True, ignore=ignore)
        return _name_bundle(bundle)
    shutil.copytree(electron, out, symlinks=True, ignore=ignore)
    ending = ".exe" if platform == "win32" else ""
    program = out / f"{NAME}{ending}"
    (out / f"electron{ending}").rename(program)
    shutil.copy2(ICON, out / f"{NAME}.png")
    for name in (program.name, "chrome_crashpad_handler"):
        if (out / name).is_file():
            (out / name).chmod(0o755)
    return program


def resources_of(out: Path, platform: str) -> Path:
    """What Electron calls ``process.resourcesPath``."""
    if platform == "darwin":
        return out / f"{NAME}.app" / "Contents" / "Resources"
    return out / "resources"


def app_files(folder: Path) -> None:
    """Put the app there, laid out as in the project, so that its imports hold."""
    ignore = shutil.ignore_patterns("*.test.js", "tests")
    for name in SHIPPED:
        source, target = BRIDGE / name, folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=ignore)
        else:
            shutil.copy2(source, target)
    shutil.copy2(ROOT / "LICENSE", folder)
    about = json.loads((APP / "package.json").read_text(encoding="utf-8"))
    kept = {key: about[key] for key in ("productName", "version", "description", "license", "type")}
    shipped = {"name": NAME, **kept, "main": f"app/{about['main']}"}
    (folder / "package.json").write_text(json.dumps(shipped, indent=2) + "\n", encoding="utf-8")


def _name_bundle(bundle: Path) -> Path:
    """Helpers keep Electron's name: it looks for them under that one first."""
    plist = bundle / "Contents" / "Info.plist"
    about = plistlib.loads(plist.read_bytes())
    version = json.loads((APP / "package.json").read_text(encoding="utf-8"))["version"]
    program = plist.with_name("MacOS") / NAME
    program.with_name(about["CFBundleExecutable"]).rename(program)
    about |= {
        "CFBundleName": NAME,
        "CFBundleDisplayName": NAME,
        "CFBundleExecutable": NAME,
        "CFBundleIdentifier": IDENTIFIER,
        "CFBundleShortVersionString": version,
        "CFBundleVersion": version,
        "CFBundleIconFile": f"{NAME}.icns",
    }
    (bundle / "Contents" / "Resources" / f"{NAME}.icns").write_bytes(_make_icns(ICON.read_bytes()))
    about.pop("ElectronAsarIntegrity", None)  # of the default app, which is left out
    plist.write_bytes(plistlib.dumps(about))
    return program


def _make_icns(png: bytes) -> bytes:
    """Return the icon file of a macOS bundle: a header, and the picture with one of its own."""
    entry = ICNS_512 + struct.pack(">I", len(png) + 8) + png
    return b"icns" + struct.pack(">I", len(entry) + 8) + entry
