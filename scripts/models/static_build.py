"""Build codekernel-static-v1, the static code embedder that training starts from.

``python scripts/models/static_build.py --work FOLDER --target FOLDER``: from pinned packages, with
any Python 3.11 on Debian with npm; standard library only. The teacher is
``models/granite-embedding-30m-english``. About half an hour on one core the first time; what is in
the work folder is not done again. Seeds are fixed. ``scripts/train/README.md`` goes on from here to
the model in the box.
"""

import argparse
import os
import subprocess
from pathlib import Path

import throwaway

TOOLS = (
    "numpy==2.4.6",
    "onnx==1.23.2",
    "onnxruntime==1.31.1",
    "protobuf==7.36.2",
    "scipy==1.17.1",
    "tokenizers==0.23.3",
)
# Sums in one order, so that the same machine writes the same bytes; and other people work here too.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "RAYON_NUM_THREADS": "1"}


def main() -> None:
    """Prepare the tools and run the recipe."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, required=True, help="caches; about 2 GB")
    parser.add_argument("--target", type=Path, required=True, help="the model's folder")
    arguments = parser.parse_args()
    tools = arguments.work / "tools"
    python = tools / "bin" / "python"
    if not python.exists():
        throwaway.interpreter(tools, TOOLS)
    recipe = Path(__file__).with_name("static_recipe.py")
    command = [str(python), str(recipe), str(arguments.work), str(arguments.target)]
    subprocess.run(command, check=True, env=os.environ | ONE_THREAD)
    model = arguments.target / "model.onnx"
    print(f"{model}: {model.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
