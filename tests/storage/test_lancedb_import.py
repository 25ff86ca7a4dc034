"""LanceDB works without the client of its REST service, which is not loaded."""

import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import sys
from codekernel.storage.vectors.lancedb_import import import_lancedb
before = list(sys.meta_path)
lancedb = import_lancedb()
assert sys.meta_path == before
database = lancedb.connect(sys.argv[1])
database.create_table("t", [{"x": 1}, {"x": 2}]).delete("x = 1")
assert database.open_table("t").count_rows() == 1
client = [name for name in sys.modules if name.startswith("lance_namespace")]
assert client, "LanceDB asks for the client no more: lancedb_import.py can go"
print(any(getattr(sys.modules[name], "__file__", None) for name in client))
"""


@pytest.mark.slow
def test_no_file_of_the_client_is_read(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert (done.stdout.strip(), done.stderr) == ("False", "")
