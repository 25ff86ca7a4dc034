import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing
from functools import partial
from pathlib import Path
from typing import TypeAlias

import pytest
from codekernel.watching.event_source import ChangedPaths, InotifySource
from codekernel.watching.watchdog_source import WatchdogSource
from codekernel.watching.watcher import GUARD_CHANGED, FileWatcher, OpenSource, WatchTimings
from watching.recorder import WAIT_TIMEOUT_SECONDS, ChangeRecorder, watched

# Watchdog on Linux, which only these tests use, warns when it meets a new folder twice.
pytestmark = pytest.mark.filterwarnings("ignore:Callback with id:RuntimeWarning")
Watch: TypeAlias = Callable[..., AbstractContextManager[tuple[FileWatcher, ChangeRecorder]]]
# For tests of what happens, and not of how often.
SWIFT = WatchTimings(root_check=0.05, min_rescan=0.05)
posix_only = pytest.mark.skipif(os.name == "nt", reason="links, modes and names of bytes")


@pytest.fixture(params=["native", "watchdog"])
def open_source(request: pytest.FixtureRequest) -> type[InotifySource | WatchdogSource]:
    """Linux can be watched in both ways, so that the other systems' way is tried here too."""
    if request.param == "watchdog":
        return WatchdogSource
    if sys.platform != "linux":
        pytest.skip("watchdog is the native way here")
    return InotifySource


@pytest.fixture
def watch(open_source: OpenSource) -> Watch:
    return partial(watched, timings=SWIFT, open_source=open_source)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    (root / "src" / "deep").mkdir(parents=True)
    (root / "src" / "main.py").write_text("print(1)\n", encoding="utf-8")
    (root / "readme.md").write_text("hello\n", encoding="utf-8")
    return root


@pytest.fixture
def recorder(root: Path, watch: Watch) -> Iterator[ChangeRecorder]:
    with watch(root) as (_, recorder):
        yield recorder


def test_a_file_written_in_place_is_told(root: Path, recorder: ChangeRecorder) -> None:
    (root / "src" / "main.py").write_text("print(2)\n", encoding="utf-8")
    recorder.expect_paths("src/main.py")
    assert recorder.rescan_count == 0


def test_a_save_as_vim_does_it_is_told(root: Path, recorder: ChangeRecorder) -> None:
    path, backup = root / "src" / "main.py", root / "src" / "main.py~"
    (root / "src" / "4913").touch()
    (root / "src" / "4913").unlink()
    path.rename(backup)
    path.write_text("print(2)\n", encoding="utf-8")
    backup.unlink()
    recorder.expect_paths("src/main.py")
    assert recorder.rescan_count == 0


def test_a_save_by_a_temporary_file_renamed_over_is_told(
    root: Path, recorder: ChangeRecorder
) -> None:
    temporary = root / "src" / ".main.py.swp.tmp"
    temporary.write_text("print(2)\n", encoding="utf-8")
    temporary.replace(root / "src" / "main.py")
    recorder.expect_paths("src/main.py")
    assert recorder.rescan_count == 0


def test_a_save_as_jetbrains_does_it_is_told(root: Path, recorder: ChangeRecorder) -> None:
    path = root / "src" / "main.py"
    new, old = root / "src" / "main.py___jb_tmp___", root / "src" / "main.py___jb_old___"
    new.write_text("print(2)\n", encoding="utf-8")
    path.rename(old)
    new.rename(path)
    old.unlink()
    recorder.expect_paths("src/main.py")
    assert recorder.rescan_count == 0


def test_both_ends_of_a_renamed_file_are_told(root: Path, recorder: ChangeRecorder) -> None:
    (root / "readme.md").rename(root / "src" / "notes.md")
    recorder.expect_paths("readme.md", "src/notes.md")


def test_a_rename_of_case_only_is_told(root: Path, recorder: ChangeRecorder) -> None:
    (root / "readme.md").rename(root / "README.md")
    recorder.expect_paths("readme.md", "README.md")


def test_a_deleted_file_is_told(root: Path, recorder: ChangeRecorder) -> None:
    (root / "readme.md").unlink()
    recorder.expect_paths("readme.md")


def test_a_file_moved_out_or_in_is_told(
    root: Path, recorder: ChangeRecorder, tmp_path: Path
) -> None:
    (root / "readme.md").rename(tmp_path / "away.md")
    recorder.expect_paths("readme.md")
    (tmp_path / "away.md").rename(root / "back.md")
    recorder.expect_paths("back.md")


def test_a_new_folder_is_told_and_then_watched(root: Path, recorder: ChangeRecorder) -> None:
    (root / "new" / "deeper").mkdir(parents=True)
    (root / "new" / "deeper" / "a.py").write_bytes(b"1")
    recorder.expect_paths("new")
    recorder.list_paths_until_now(root)
    (root / "new" / "deeper" / "b.py").write_bytes(b"1")
    recorder.expect_paths("new/deeper/b.py")


def test_a_deleted_folder_is_told(root: Path, recorder: ChangeRecorder) -> None:
    shutil.rmtree(root / "src")
    recorder.expect_paths("src")
    (root / "src").mkdir()
    recorder.list_paths_until_now(root)
    (root / "src" / "again.py").write_bytes(b"1")
    recorder.expect_paths("src/again.py")


def test_a_moved_folder_is_a_sweep_and_is_watched_at_its_new_place(
    root: Path, recorder: ChangeRecorder
) -> None:
    (root / "src").rename(root / "lib")
    recorder.wait_for_rescans(1)
    (root / "lib" / "deep" / "a.py").write_bytes(b"1")
    recorder.expect_paths("lib/deep/a.py")
    assert "src/deep/a.py" not in recorder.paths


def test_reading_is_not_told(root: Path, recorder: ChangeRecorder) -> None:
    (root / "readme.md").read_bytes()
    list((root / "src").iterdir())
    assert recorder.list_paths_until_now(root) == {"marker"}


def test_git_is_told_of_only_where_it_matters(root: Path, watch: Watch) -> None:
    for folder in ("info", "objects/ab", "refs/heads"):
        (root / ".git" / folder).mkdir(parents=True)
    with watch(root) as (_, recorder):
        for name in ("index.lock", "objects/ab/cdef", "refs/heads/main", "info/refs", "HEAD.lock"):
            (root / ".git" / name).write_bytes(b"x")
        (root / ".git" / "index.lock").replace(root / ".git" / "index")
        (root / ".git" / "HEAD.lock").replace(root / ".git" / "HEAD")
        (root / ".git" / "info" / "exclude").write_bytes(b"*.log\n")
        told = recorder.list_paths_until_now(root)
        assert told == {".git/HEAD", ".git/info/exclude", "marker"}


def test_a_repository_made_later_is_told(root: Path, recorder: ChangeRecorder) -> None:
    (root / "sub" / ".git" / "info").mkdir(parents=True)
    recorder.expect_paths("sub")
    recorder.list_paths_until_now(root)
    (root / "sub" / ".git" / "info" / "exclude").write_bytes(b"*.log\n")
    recorder.expect_paths("sub/.git/info/exclude")


@posix_only
def test_links_are_not_followed(root: Path, tmp_path: Path, watch: Watch) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (root / "link").symlink_to(outside)
    (root / "loop").symlink_to(root)
    with watch(root) as (_, recorder):
        (outside / "a.py").write_bytes(b"1")
        assert recorder.list_paths_until_now(root) == {"marker"}


@posix_only
def test_a_root_that_is_a_link_is_watched(root: Path, tmp_path: Path, watch: Watch) -> None:
    link = tmp_path / "link"
    link.symlink_to(root)
    with watch(link) as (_, recorder):
        (root / "src" / "main.py").write_bytes(b"2")
        recorder.expect_paths("src/main.py")


@pytest.mark.skipif(sys.platform != "linux", reason="names that are no text")
def test_names_that_are_no_text_are_told_with_surrogates(
    root: Path, recorder: ChangeRecorder
) -> None:
    with open(os.fsencode(root) + b"/caf\xe9.py", "wb"):  # noqa: PTH123  # a Path cannot say this
        pass
    recorder.expect_paths("caf\udce9.py")


def test_skipped_folders_are_silent_until_reconsidered(
    root: Path, watch: Watch, open_source: type[InotifySource | WatchdogSource]
) -> None:
    skipped = {"node_modules"}
    (root / "node_modules" / "pkg").mkdir(parents=True)
    selective = partial(open_source, skip_folder=skipped.__contains__)
    with watch(root, open_source=selective) as (watcher, recorder):
        (root / "node_modules" / "pkg" / "a.js").write_bytes(b"1")
        assert recorder.list_paths_until_now(root) == {"marker"}
        skipped.clear()
        watcher.refresh_watches()
        recorder.wait_for_rescans(1)
        (root / "node_modules" / "pkg" / "a.js").write_bytes(b"2")
        recorder.expect_paths("node_modules/pkg/a.js")


@pytest.mark.slow
def test_a_burst_is_few_sweeps_and_loses_nothing(root: Path, open_source: OpenSource) -> None:
    made = {f"src/burst/{number}.py" for number in range(5000)}
    learned: set[str] = set()
    told: list[ChangedPaths] = []
    complete = threading.Event()

    def notify(changes: ChangedPaths) -> None:
        told.append(changes)
        learned.update(changes.paths)
        if (
            changes.needs_rescan or "src/burst" in changes.paths
        ):  # as the receiver does: look into it
            learned.update(f"src/burst/{path.name}" for path in (root / "src/burst").glob("*"))
        if learned >= made:
            complete.set()

    recorder = ChangeRecorder()
    watcher = FileWatcher(root, notify, on_error=recorder.on_error, open_source=open_source)
    watcher.start()
    try:
        (root / "src/burst").mkdir()
        for path in made:
            (root / path).write_bytes(b"x = 1\n")
        assert complete.wait(WAIT_TIMEOUT_SECONDS)
    finally:
        watcher.close()
    # Two or three on a quiet machine; on one that writes slowly, two a second at most.
    assert len(told) < 100
    assert recorder.errors == []


def test_a_root_that_vanishes_is_swept_and_watched_again_when_it_is_back(
    root: Path, watch: Watch
) -> None:
    with watch(root) as (watcher, recorder):
        shutil.rmtree(root)
        recorder.wait_for_rescans(1)
        recorder.changes.clear()
        root.mkdir()
        recorder.wait_until(lambda _: watcher.mode == "watching" and recorder.rescan_count > 0)
        recorder.list_paths_until_now(root)
        assert recorder.errors == []


def test_a_root_whose_parent_is_renamed_is_noticed(
    root: Path, tmp_path: Path, watch: Watch
) -> None:
    parent = tmp_path / "parent"
    parent.mkdir()
    root = root.rename(parent / "repo")
    with watch(root) as (_, recorder):
        parent.rename(tmp_path / "elsewhere")
        recorder.wait_for_rescans(1)
        (tmp_path / "elsewhere").rename(parent)
        recorder.wait_for_rescans(2)
        assert recorder.errors == []


def test_a_root_that_is_not_there_yet_is_waited_for(tmp_path: Path, watch: Watch) -> None:
    with watch(tmp_path / "later") as (watcher, recorder):
        assert watcher.mode == "polling"
        (tmp_path / "later").mkdir()
        recorder.wait_for_rescans(1)
        recorder.list_paths_until_now(tmp_path / "later")
        assert recorder.errors == []


def test_after_closing_nothing_is_told_and_no_thread_is_left(root: Path, watch: Watch) -> None:
    with watch(root) as (watcher, recorder):
        for number in range(1000):
            (root / f"{number}.py").write_bytes(b"1")
        watcher.close()
        told = len(recorder.changes)
        (root / "late.py").write_bytes(b"1")
        watcher._thread.join(WAIT_TIMEOUT_SECONDS)
        watcher._notifier.thread.join(WAIT_TIMEOUT_SECONDS)
        assert not watcher._thread.is_alive()
        assert not watcher._notifier.thread.is_alive()
        assert len(recorder.changes) == told


def test_closing_does_not_wait_for_a_receiver_that_is_busy(
    root: Path, open_source: OpenSource
) -> None:
    entered, leave = threading.Event(), threading.Event()

    def notify(changes: ChangedPaths) -> None:
        entered.set()
        leave.wait(WAIT_TIMEOUT_SECONDS)

    watcher = FileWatcher(root, notify, on_error=lambda _: None, open_source=open_source)
    watcher.start()
    assert entered.wait(WAIT_TIMEOUT_SECONDS)
    watcher.close()
    assert watcher._notifier.thread.is_alive()
    leave.set()
    watcher._notifier.thread.join(WAIT_TIMEOUT_SECONDS)
    assert not watcher._notifier.thread.is_alive()


def test_closing_from_within_a_notification_and_twice_is_fine(
    root: Path, open_source: OpenSource
) -> None:
    closed = threading.Event()

    def notify(changes: ChangedPaths) -> None:
        watcher.close()
        watcher.close()
        closed.set()

    watcher = FileWatcher(root, notify, on_error=lambda _: None, open_source=open_source)
    watcher.start()
    assert closed.wait(WAIT_TIMEOUT_SECONDS)


def test_closing_what_never_began_is_fine(root: Path, open_source: OpenSource) -> None:
    never_begun = FileWatcher(
        root, lambda _: None, on_error=lambda _: None, open_source=open_source
    )
    never_begun.close()
    assert not never_begun._thread.is_alive()


def test_a_tree_that_watchdog_gives_up_is_polled_with_one_sentence(root: Path) -> None:
    trees: list[WatchdogSource] = []

    def open_remembered(root: str) -> WatchdogSource:
        trees.append(WatchdogSource(root))
        return trees[-1]

    with watched(root, timings=SWIFT, open_source=open_remembered) as (watcher, recorder):
        for emitter in trees[0]._observer.emitters:
            emitter.stop()
        recorder.wait_until(lambda recorder: bool(recorder.errors))
        assert watcher.mode == "polling"
        assert "stopped telling" in recorder.errors[0]


def test_changes_in_guarded_folders_are_notified_until_they_are_guarded_no_more(
    root: Path, tmp_path: Path, open_source: OpenSource, watch: Watch
) -> None:
    store = tmp_path / "store"
    store.mkdir()
    with watch(root) as (watcher, recorder):
        if not watcher.guard_folders([store]):
            assert open_source is WatchdogSource
            return
        (store / "file").write_text("changed", encoding="utf-8")
        recorder.wait_until(lambda recorder: GUARD_CHANGED in recorder.changes)
        assert watcher.guard_folders([])
        recorder.changes.clear()
        (store / "file").write_text("changed again", encoding="utf-8")
        recorder.list_paths_until_now(root)
        assert GUARD_CHANGED not in recorder.changes
        assert not watcher.guard_folders([tmp_path / "nowhere"])


def test_a_folder_that_is_watched_and_guarded_stays_watched(
    root: Path, open_source: OpenSource, watch: Watch
) -> None:
    with watch(root) as (watcher, recorder):
        if not watcher.guard_folders([root / "src"]):
            assert open_source is WatchdogSource
            return
        assert watcher.guard_folders([])
        (root / "src" / "main.py").write_text("print(3)\n", encoding="utf-8")
        recorder.expect_paths("src/main.py")


@pytest.mark.skipif(sys.platform != "linux", reason="inotify")
def test_the_end_of_a_guard_is_no_change_of_what_was_guarded(root: Path, tmp_path: Path) -> None:
    store = tmp_path / "store"
    store.mkdir()
    changes: list[ChangedPaths] = []
    over = threading.Event()
    with closing(InotifySource(str(root))) as source:

        def read_events() -> None:
            while not over.is_set():
                changes.append(source.wait(None))

        reader = threading.Thread(target=read_events)
        reader.start()
        for _ in range(2000):
            assert source.guard_folders([store])
            assert source.guard_folders([])
        over.set()
        source.wake()
        reader.join(WAIT_TIMEOUT_SECONDS)
    assert not any(each.is_guard_changed for each in changes)


@pytest.mark.skipif(sys.platform != "linux", reason="inotify")
@pytest.mark.parametrize("open_source", ["native"], indirect=True)
def test_a_renamed_parent_is_reported_by_the_system_and_not_looked_for(
    root: Path, tmp_path: Path, watch: Watch
) -> None:
    seldom = WatchTimings(root_check=600.0, min_rescan=0.05)
    with closing(InotifySource(str(root))) as source:
        assert source.reports_root
    (tmp_path / "above").mkdir()
    below = root.rename(tmp_path / "above" / "repo")
    with watch(below, timings=seldom) as (_, recorder):
        (tmp_path / "above").rename(tmp_path / "elsewhere")
        recorder.wait_for_rescans(1)
