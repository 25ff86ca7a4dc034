"""Modules whose import is put off until something of them is used."""

import subprocess
import sys

import pytest
from codekernel.cli.late_modules import LATE_MODULES

CODE = """
import sys
from codekernel.cli.late_modules import put_off_imports
put_off_imports()
put_off_imports()
import {name}
is_late = type(sys.modules[{name!r}]).__name__ == "_LateModule"
print(is_late, {use}, type(sys.modules[{name!r}]).__name__)
"""
USES = {
    "importlib.metadata": "importlib.metadata.version('numpy') > ''",
    "inspect": "inspect.isfunction(put_off_imports)",
    "ipaddress": "ipaddress.ip_address('127.0.0.1').is_loopback",
    "shutil": "callable(shutil.which)",
    "subprocess": "subprocess.run([sys.executable, '-c', '']).returncode == 0",
    "webbrowser": "callable(webbrowser.open)",
}


def run_python(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, check=True
    ).stdout


@pytest.mark.parametrize("name", sorted(LATE_MODULES))
def test_a_late_module_is_there_when_it_is_used(name: str) -> None:
    assert run_python(CODE.format(name=name, use=USES[name])) == "True True module\n"


def test_names_of_a_late_module_can_be_imported_from_it() -> None:
    code = (
        "from codekernel.cli.late_modules import put_off_imports\n"
        "put_off_imports()\n"
        "from inspect import isclass\n"
        "from subprocess import PIPE\n"
        "print(isclass(int), PIPE)"
    )
    assert run_python(code) == "True -1\n"


def test_a_search_in_a_terminal_imports_none_of_them() -> None:
    code = (
        "import sys\n"
        "from codekernel.cli.late_modules import LATE_MODULES, put_off_imports\n"
        "put_off_imports()\n"
        "import codekernel.cli.command_line, codekernel.cli.commands.search\n"
        "loaded = [n for n in LATE_MODULES if getattr(sys.modules.get(n), '__file__', None)]\n"
        "print(loaded)"
    )
    assert run_python(code) == "[]\n"
