"""Compare the ways of storing granite-embedding-30m-english; the table is in its model card.

``python scripts/models/compare_granite.py``: a quarter of an hour on one thread. The texts are
the functions of the packages installed beside the Python that runs this.
"""

import subprocess
import sysconfig
import tempfile
from pathlib import Path

import build_granite
import throwaway

TOOLS = (*build_granite.TOOLS, "onnxruntime==1.31.1", "psutil==7.2.2")


def main() -> None:
    """Measure in a throw-away environment."""
    with tempfile.TemporaryDirectory(prefix="granite-") as temporary:
        python = throwaway.interpreter(Path(temporary, "venv"), TOOLS)
        wheel = build_granite.verified_wheel(python, Path(temporary))
        measure = Path(__file__).with_name("granite_measure.py")
        sources = sysconfig.get_paths()["purelib"]
        subprocess.run([str(python), str(measure), str(wheel), sources, temporary], check=True)


if __name__ == "__main__":
    main()
