"""One evaluation: the index brought up to date, history read, every setting tried."""

import os
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

from kernel.cli.eval_report import Report
from kernel.cli.eval_trials import Progress, Trials, run
from kernel.cli.search_place import index_folder, searched_folder
from kernel.domain.settings import Settings
from kernel.errors import StorageError
from kernel.indexing.plan import IndexPlan, plan_of
from kernel.indexing.repository_index import RepositoryIndex
from kernel.inference.shelf import Shelf
from kernel.search.history import HistoryUnavailable, commits
from kernel.search.mining import Question, questions
from kernel.settings.reading import load
from kernel.storage.user_data import UserData

LOOK_SECONDS = 0.1


def evaluated(user_data: UserData, folder: str | None, most: int, tell: Progress) -> Report:
    """Ask about at most so many commits; raises KernelError where nothing can be asked."""
    root = searched_folder(folder)
    # Without a history to ask about, nobody should wait for an index.
    _asked(root, lambda path: (root / path).is_file(), most=1)
    settings, plan = _settings(user_data)
    shelf = Shelf()
    index = RepositoryIndex(root, index_folder(root, user_data, os.environ), lambda: shelf)
    with closing(index):
        if index.store.writer is None:
            raise StorageError(
                f"another codekernel has {root} open; close it there, or give another --user-data"
            )
        index.start(plan)
        _wait_for(index, tell)
        catalogue = index.store.catalogue
        asked = _asked(root, lambda path: catalogue.file(path) is not None, most)
        trials = Trials(root, index, asked, tell)
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


def _wait_for(index: RepositoryIndex, tell: Progress) -> None:
    while not index.idle:
        status = index.status()
        left = [config.seconds_left for config in status.configs if config.seconds_left]
        eta = f", {sum(left):.0f} s left" if left else ""
        tell(f"indexing: {status.files} files, {status.chunks} chunks{eta}")
        time.sleep(LOOK_SECONDS)
