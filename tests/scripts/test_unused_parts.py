"""scripts/unused_parts.py: what is removed from the installed packages is never loaded."""

import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from unused_parts import is_unused, remove_unused

PACKAGES = Path(pytest.__file__).parents[1]
# Arrow's client of S3 is loaded where it is, and not missed where it is not.
# What writes and reads vectors and runs models, and then every file of the process.
LOADED_FILES = """
import sys, tempfile
from pathlib import Path
import numpy as np
from codekernel.inference.providers import CPU, find_provider_error
from codekernel.storage.vectors.lance_rows import LanceRows

with tempfile.TemporaryDirectory() as folder:
    rows = LanceRows.open(Path(folder, "vectors"), 8)
    rows.add(np.arange(20), np.eye(20, 8, dtype=np.float16))
    rows.delete(np.arange(10))
    rows.compact()
    assert rows.count_rows() == len(rows.read_batch(0)[0]) == 10
assert find_provider_error(CPU) is None
files = {module.__file__ for module in list(sys.modules.values()) if getattr(module, "__file__", 0)}
maps = Path("/proc/self/maps")
if maps.exists():
    files |= {line.split(maxsplit=5)[-1].strip() for line in maps.open() if "/" in line}
print(*files, sep="\\n")
"""


@pytest.mark.slow
def test_nothing_that_is_removed_is_loaded_by_writing_vectors_and_running_models() -> None:
    run = [sys.executable, "-c", LOADED_FILES]
    done = subprocess.run(run, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    inside = [Path(line) for line in done.stdout.splitlines() if line.startswith(str(PACKAGES))]
    relative = [file.relative_to(PACKAGES) for file in inside]

    assert {"pyarrow", "onnxruntime", "numpy"} <= {file.parts[0] for file in relative}
    loaded = [file for file in relative if is_unused(file)]
    assert [file for file in loaded if "s3" not in file.name] == []


def test_parts_are_removed_and_counted_and_the_rest_stays(tmp_path: Path) -> None:
    removed = ("numpy/linalg/tests/test_it.py", "pyarrow/include/api.h", "pyarrow/lib.pyx")
    kept = ("numpy/linalg/it.py", "pyarrow/lib.so", "other/tests/test_it.py")
    for name in (*removed, *kept):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"12345")

    assert remove_unused(tmp_path) == 5 * len(removed)

    assert [name for name in removed if (tmp_path / name).exists()] == []
    assert all((tmp_path / name).exists() for name in kept)
    assert remove_unused(tmp_path) == 0
