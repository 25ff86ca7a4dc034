"""``codekernel eval``: how well search finds what the repository's own commits changed.

Nothing is written but the index, which a search in the same folder uses as well.
"""

import logging
import os
import sys
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from kernel.cli.eval_report import Report
from kernel.cli.eval_trials import Trials, run
from kernel.domain.settings import Settings
from kernel.errors import KernelError, StorageError
from kernel.indexing.plan import IndexPlan, plan_of
from kernel.indexing.repository_index import RepositoryIndex
from kernel.inference.shelf import Shelf
from kernel.search.history import HistoryUnavailable, commits
from kernel.search.mining import Question, questions
from kernel.settings.reading import load
from kernel.storage.repo_registry import RepoRegistry
from kernel.storage.user_data import UserData, locate
from kernel.storage.vault import Vault

INTERRUPTED = 130  # as shells count it
LOOK_SECONDS = 0.1


def evaluate(user_data_argument: str | None, folder: str, most: int, *, as_json: bool) -> int:
    """Print what was found; 0 if something was, 1 if the repository cannot be asked."""
    logging.getLogger().addHandler(logging.NullHandler())  # what matters is said, not logged
    user_data = locate(user_data_argument, os.environ)
    try:
        report = _evaluated(user_data, Path(folder).absolute(), most)
    except KernelError as error:
        _tell_end(f"PROBLEM: {error}")
        return 1
    except KeyboardInterrupt:
        _tell_end("Stopped.")
        return INTERRUPTED
    _tell_end("")
    for line in [report.json()] if as_json else report.lines():
        print(line)
    return 0


def _evaluated(user_data: UserData, root: Path, most: int) -> Report:
    if not root.is_dir():
        raise HistoryUnavailable(f"there is no folder {root}")
    # Without a history to ask about, nobody should wait for an index.
    _asked(root, lambda path: (root / path).is_file(), most=1)
    settings, plan = _settings(user_data)
    shelf = Shelf()
    index = RepositoryIndex(root, _index_folder(user_data, root), lambda: shelf)
    with closing(index):
        if index.store.writer is None:
            raise StorageError(
                f"another codekernel has {root} open; close it there, or give another --user-data"
            )
        index.start(plan)
        _wait_for(index)
        catalogue = index.store.catalogue
        asked = _asked(root, lambda path: catalogue.file(path) is not None, most)
        trials = Trials(root, index, asked, _tell)
        outcomes, comparisons, remarks = run(trials, plan, settings, shelf)
    return Report(root, tuple(outcomes), tuple(comparisons), tuple(remarks))


def _asked(root: Path, is_there: Callable[[str], bool], most: int) -> list[Question]:
    with closing(commits(root)) as history:
        asked = questions(history, is_there, most)
    if not asked:
        raise HistoryUnavailable(
            f"no commit of {root} can be asked: all are merges, releases, the work of bots, too "
            "large, too short, or about files that are not there any more"
        )
    return asked


def _settings(user_data: UserData) -> tuple[Settings, IndexPlan]:
    settings, warnings = load(user_data.settings_file)
    # On the word of a fallback no vectors are deleted.
    return settings, plan_of(settings, certain=not warnings)


def _index_folder(user_data: UserData, root: Path) -> Path:
    """The index that the kernel uses for a registered repository, or the folder's own."""
    if user_data.database_file.exists():
        vault = Vault(user_data, os.environ, may_set_aside=lambda: False)
        with closing(vault):
            for repo in RepoRegistry(vault).all():
                if repo.path == root:
                    return user_data.index_of(repo.id)
    return user_data.index_of_folder(root)


def _wait_for(index: RepositoryIndex) -> None:
    while not index.idle:
        status = index.status()
        left = [config.seconds_left for config in status.configs if config.seconds_left]
        eta = f", {sum(left):.0f} s left" if left else ""
        _tell(f"indexing: {status.files} files, {status.chunks} chunks{eta}")
        time.sleep(LOOK_SECONDS)


def _tell(text: str) -> None:
    """Progress, on one line of a terminal; a log file would be flooded."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()


def _tell_end(text: str) -> None:
    """The end of progress, and a last word."""
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
    if text:
        sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
