"""Build ``models/codekernel-static-v1``, the static code embedder, from pinned packages.

``python scripts/models/static_build.py --work FOLDER [--target FOLDER]``: any Python 3.11 on Debian
with npm; standard library only. The teacher is ``models/granite-embedding-30m-english``. About half
an hour on one core the first time; what is in the work folder is not done again. Seeds are fixed.

Step 8 trains the successor: it can take the vocabulary, the samples and the teacher's vectors from
the work folder, replace static_variants.table, and write with static_export as this recipe does.
"""

import argparse
import os
import subprocess
from pathlib import Path

import manifest
import throwaway

NAME = "codekernel-static-v1"
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
FILES = (
    "canonical_vectors.json",
    "codekernel.json",
    "config.json",
    "model.onnx",
    "tokenizer.json",
)
ENTRY = {
    "name": NAME,
    "kind": "static",
    "dimensions": 256,
    "maxTokens": 2048,
    "licence": "Apache-2.0",
    "source": {
        "teacher": "granite-embedding-30m-english",
        "recipe": "scripts/models/static_build.py",
    },
}


def main() -> None:
    """Prepare the tools, run the recipe, record the result."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, required=True, help="caches; about 2 GB")
    parser.add_argument("--target", type=Path, default=manifest.MODELS / NAME)
    arguments = parser.parse_args()
    tools = arguments.work / "tools"
    python = tools / "bin" / "python"
    if not python.exists():
        throwaway.interpreter(tools, TOOLS)
    recipe = Path(__file__).with_name("static_recipe.py")
    command = [str(python), str(recipe), str(arguments.work), str(arguments.target)]
    subprocess.run(command, check=True, env=os.environ | ONE_THREAD)
    manifest.record(ENTRY, arguments.target, FILES)
    print(f"{NAME}: {(arguments.target / 'model.onnx').stat().st_size:,} bytes of model")


if __name__ == "__main__":
    main()
