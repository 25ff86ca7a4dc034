"""The progress of an installation, read beside pip that makes and deletes files."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

from pip_run import InstallProgress


@contextmanager
def folders_that_come_and_go(parent: Path) -> Iterator[None]:
    is_over = threading.Event()

    def make_and_delete() -> None:
        while not is_over.is_set():
            folder = parent / "pip-unpack-one"
            folder.mkdir()
            (folder / "a.whl").write_bytes(b"1")
            (folder / "a.whl").unlink()
            folder.rmdir()

    worker = threading.Thread(target=make_and_delete)
    worker.start()
    try:
        yield
    finally:
        is_over.set()
        worker.join()


def test_what_pip_deletes_while_it_is_counted_is_left_out(tmp_path: Path) -> None:
    lock, downloads = tmp_path / "requirements.lock", tmp_path / "downloads"
    lock.write_text("one==1\n")
    (downloads / "pip-unpack-two").mkdir(parents=True)
    (downloads / "pip-unpack-two" / "b.whl").write_bytes(b"0" * 3_000_000)
    progress = InstallProgress(lock, downloads, [tmp_path])
    progress.read_line("Collecting one==1")
    with folders_that_come_and_go(downloads):
        said = {progress.describe() for _ in range(3_000)}
    assert said == {"1 of 1 packages, 3 MB fetched"}
