"""The repositories whose tests ``impact.py`` runs, and how."""

import json
import shutil
import subprocess
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from rival_venv import RivalMissing, environment

TEST_TIMEOUT_SECONDS = 240.0
# A test that asks the network, which there may not be.
CASE_TIMEOUT_SECONDS = 3

# The file of a test, and its name with its class.
TestName = tuple[str, str]


class Unusable(Exception):
    """A commit that says nothing; the message is the reason."""


class Suite(NamedTuple):
    """A repository whose tests can run from a folder."""

    name: str
    mirror: str
    # Prefixes of the files that are code.
    sources: Sequence[str]
    requirements: Sequence[str] = ()
    environ: tuple[tuple[str, str], ...] = ()
    options: Sequence[str] = ()
    is_go: bool = False


# On these the weights of the signs were chosen.
TUNED_ON = ("click", "werkzeug", "starlette")

SUITES = (
    Suite("click", "pallets+click", ("src/click/", "click/"), ("pytest<9", "pytest-timeout")),
    Suite(
        "werkzeug",
        "pallets+werkzeug",
        ("src/werkzeug/",),
        ("pytest<9", "pytest-timeout", "markupsafe", "cryptography", "watchdog",
         "ephemeral-port-reserve"),
    ),
    Suite(
        "starlette",
        "encode+starlette",
        ("starlette/",),
        ("pytest<9", "pytest-timeout", "httpx", "anyio[trio]", "itsdangerous", "jinja2",
         "python-multipart", "pyyaml", "typing_extensions"),
    ),
    # Root may write where these tests expect that nobody may.
    Suite("cobra", "spf13+cobra", ("",), options=("-skip", "FailGen"), is_go=True),
    Suite(
        "model2vec",
        "MinishLab+model2vec",
        ("model2vec/",),
        ("pytest<9", "pytest-timeout", "pytest-mock", "numpy", "tokenizers", "safetensors",
         "jinja2", "joblib", "rich", "tqdm", "setuptools", "huggingface_hub"),
    ),
    Suite(
        "requests",
        "psf+requests",
        ("src/requests/", "requests/"),
        ("pytest<9", "pytest-timeout",
         "pytest-httpbin", "pytest-mock", "trustme", "PySocks", "urllib3",
         "chardet<6", "idna", "certifi", "charset_normalizer"),
    ),
    Suite(
        "aiohttp",
        "aio-libs+aiohttp",
        ("aiohttp/",),
        ("pytest<9", "pytest-timeout",
         "pytest-mock", "pytest-aiohttp", "re-assert", "freezegun", "proxy.py",
         "trustme", "Brotli", "blockbuster", "isal", "aiosignal", "attrs", "frozenlist",
         "multidict", "yarl", "propcache", "aiohappyeyeballs", "aiodns", "python-on-whales",
         "setuptools-git", "typing_extensions", "async-timeout", "pytest-codspeed",
         "backports.zstd", "zlib-ng", "pytest-xdist"),
        (("AIOHTTP_NO_EXTENSIONS", "1"),),
        ("-p", "no:aiohttp"),  # its own tests load the plugin by another name
    ),
    Suite(
        "fastapi",
        "fastapi+fastapi",
        ("fastapi/",),
        ("pytest<9", "pytest-timeout",
         "starlette", "pydantic", "httpx", "anyio[trio]", "dirty-equals", "flask",
         "python-multipart", "PyJWT", "inline-snapshot", "annotated-doc", "typing-inspection",
         "email-validator", "jinja2", "orjson", "ujson", "sqlmodel", "pyyaml", "itsdangerous",
         "passlib", "pydantic-settings", "pydantic-extra-types"),
    ),
)  # fmt: skip


def prepare(suite: Suite) -> Path:
    """Return the program that runs the tests. Raises RivalMissing."""
    if suite.is_go:
        go = shutil.which("go")
        if go is None:
            raise RivalMissing("there is no go")
        return Path(go)
    return environment(f"impact-{suite.name}", suite.requirements)


def is_test_file(suite: Suite, path: str) -> bool:
    """Return whether a changed file has tests."""
    name = Path(path).name
    if suite.is_go:
        return name.endswith("_test.go")
    return name.startswith("test_") and name.endswith(".py") and "tests/" in path


def is_code(suite: Suite, path: str) -> bool:
    """Return whether a changed file is code that is tested."""
    extension = ".go" if suite.is_go else ".py"
    is_own = path.startswith(tuple(suite.sources)) and path.endswith(extension)
    return is_own and not is_test_file(suite, path)


def run_tests(
    suite: Suite, folder: Path, program: Path, files: Sequence[str]
) -> dict[TestName, bool]:
    """Return which tests pass, of all cases of a test together. Raises Unusable."""
    try:
        if suite.is_go:
            return run_go(suite, folder, program)
        return run_pytest(suite, folder, program, files)
    except subprocess.TimeoutExpired:
        raise Unusable("the tests take too long") from None


def run_go(suite: Suite, folder: Path, program: Path) -> dict[TestName, bool]:
    """Return which tests of all packages pass."""
    command = [str(program), "test", "-vet=off", "-json", *suite.options, "./..."]
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True,
                          timeout=TEST_TIMEOUT_SECONDS)  # fmt: skip
    places = {
        line.removeprefix("func ").partition("(")[0]: str(file.relative_to(folder))
        for file in folder.rglob("*_test.go")
        for line in file.read_text(encoding="utf-8").splitlines()
        if line.startswith("func Test")
    }
    found: dict[TestName, bool] = {}
    for row in done.stdout.decode(errors="replace").splitlines():
        event = json.loads(row) if row.startswith("{") else {}
        name, action = event.get("Test", ""), event.get("Action")
        if name in places and action in ("pass", "fail"):
            found[places[name], name] = action == "pass"
    return found


def run_pytest(
    suite: Suite, folder: Path, python: Path, files: Sequence[str]
) -> dict[TestName, bool]:
    """Return which tests pass, of all cases of a test together. Raises Unusable."""
    report = folder.parent / "report.xml"
    report.unlink(missing_ok=True)
    options = ["-q", "-p", "no:cacheprovider", "-o", "addopts=", "-o", "filterwarnings=default",
               f"--timeout={CASE_TIMEOUT_SECONDS}"]  # fmt: skip
    command = [str(python), "-m", "pytest", *options, "--continue-on-collection-errors",
               f"--junitxml={report}", *suite.options, *files]  # fmt: skip
    environ = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(folder.parent),
        "PYTHONPATH": f"{folder / 'src'}:{folder}",
        "PYTHONDONTWRITEBYTECODE": "1",
        **dict(suite.environ),
    }
    subprocess.run(command, cwd=folder, env=environ, check=False, capture_output=True,
                   timeout=TEST_TIMEOUT_SECONDS)  # fmt: skip
    if not report.exists():
        raise Unusable("the tests do not start")
    return read_report(report, files)


def read_report(report: Path, files: Sequence[str]) -> dict[TestName, bool]:
    """Return which tests pass; one that was skipped is not among them."""
    modules = {path.removesuffix(".py").replace("/", "."): path for path in files}
    found: dict[TestName, bool] = {}
    for case in ET.parse(report).iter("testcase"):  # noqa: S314 - pytest wrote it
        owner = case.get("classname", "")
        module = next((it for it in modules if owner == it or owner.startswith(f"{it}.")), None)
        if module is None or case.find("skipped") is not None:
            continue
        scope = owner.removeprefix(module).strip(".")
        name = case.get("name", "").partition("[")[0]
        test = modules[module], f"{scope}.{name}" if scope else name
        is_good = case.find("failure") is None and case.find("error") is None
        found[test] = found.get(test, True) and is_good
    return found
