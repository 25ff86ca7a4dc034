"""What ``doctor`` says about privacy: who can open userData, and what onnxruntime left behind."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from kernel.storage.private_folder import is_open_to_others, is_ours_to_close
from kernel.storage.user_data import UserData
from kernel.storage.vault import Vault

# Other programs that use onnxruntime keep theirs in the same place, so that it is only named.
_TELEMETRY = Path("Microsoft", "DeveloperTools", ".onnxruntime")
_SHARED = (
    "is shared with other accounts of this machine: choose a folder of your own with --user-data"
)
_LEFT = (
    "holds a device id of onnxruntime, left by a program that did not switch its telemetry off;"
    " codekernel does, and the folder can be deleted"
)

Finding = tuple[bool, str]


def examine_privacy(user_data: UserData, _vault: Vault) -> Iterator[Finding]:
    """Whether userData is its owner's alone, and telemetry files of earlier versions."""
    root = user_data.root
    if not is_open_to_others(root):
        yield False, "privacy: userData is open to its owner alone"
    elif is_ours_to_close(root):
        yield False, f"privacy: other accounts can open {root}; the next start closes it to them"
    else:
        yield True, f"{root} {_SHARED}"
    for folder in telemetry_folders(os.environ):
        yield False, f"privacy: {folder} {_LEFT}"


def telemetry_folders(environ: Mapping[str, str]) -> list[Path]:
    """Where onnxruntime keeps a device id and unsent events, if it does."""
    caches = [Path(environ["XDG_CACHE_HOME"])] if environ.get("XDG_CACHE_HOME") else []
    if home := environ.get("HOME"):
        caches += [Path(home, ".cache"), Path(home, "Library", "Caches")]
    return [folder for cache in caches if (folder := cache / _TELEMETRY).is_dir()]
