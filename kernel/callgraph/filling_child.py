"""A process that reads the facts of many files into ``calls.db``: every so-many-th of an index.

Started by ``filling_process.py``. It says on stdout which file it begins, so that whoever started
it knows on which one it died; it ends with its stdin.
"""

import os
import sys
import threading
import time
from pathlib import Path

from kernel.callgraph.filling import BATCH_BYTES, BATCH_SECONDS, LANGUAGES, read
from kernel.domain.call_facts import CallFacts
from kernel.storage.call_reader import CallReader
from kernel.storage.call_schema import CALLS_FILE
from kernel.storage.call_writer import CallWriter, StaleFile
from kernel.storage.catalogue import Catalogue
from kernel.storage.index_store import CATALOGUE_FILE

# Searches go first.
NICENESS = 5


def main(folder: Path, part: int, count: int) -> None:
    """Read until nothing of this part is stale."""
    threading.Thread(target=_end_with_stdin, daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(NICENESS)
    said = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # a stray print must not end up among the numbers
    writer = CallWriter(folder / CALLS_FILE)
    catalogue = Catalogue(folder / CATALOGUE_FILE)
    reader = CallReader(folder / CALLS_FILE, folder / CATALOGUE_FILE)
    stale = [file for file in reader.stale(LANGUAGES) if file.id % count == part]
    reader.close()
    batch: list[tuple[StaleFile, CallFacts]] = []
    size, begun = 0, time.monotonic()
    for file in stale:
        said.write(b"%d\n" % file.id)
        batch.append(read(file, catalogue))
        size += file.size
        if size >= BATCH_BYTES or time.monotonic() - begun > BATCH_SECONDS:
            writer.replace(batch)
            batch, size, begun = [], 0, time.monotonic()
    writer.replace(batch)
    writer.tidy()
    writer.close()


def _end_with_stdin() -> None:
    # Not through Python's buffer: whoever waits in there cannot be left at the end.
    while os.read(0, 1):
        continue
    os._exit(1)  # nobody is left to read for


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
