import errno
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from codekernel.watching import watcher as watcher_module
from codekernel.watching.event_source import ChangedPaths, InotifySource
from codekernel.watching.watcher import ChangeNotifier, WatchTimings, explain_watch_error
from watching.recorder import ChangeRecorder, watched

linux_only = pytest.mark.skipif(sys.platform != "linux", reason="inotify")
QUEUE_LIMIT = Path("/proc/sys/fs/inotify/max_queued_events")
# More is not worth a test's time.
LARGEST_QUEUE = 20_000

FEW_WATCHES = """
import sys
from pathlib import Path
from watching.recorder import watched
from codekernel.watching.watcher import WatchTimings

LIMIT = Path("/proc/sys/user/max_inotify_watches")  # of this user namespace
try:
    LIMIT.write_text("5")
except OSError as refused:
    print("not possible:", refused)
    sys.exit()
root = Path(sys.argv[1])
with watched(root, timings=WatchTimings(retry=0.1, min_rescan=0.05)) as (watcher, recorder):
    recorder.wait_until(lambda recorder: bool(recorder.errors))
    assert watcher.mode == "polling", watcher.mode
    recorder.wait_for_rescans(2)  # tried again, in vain, and not said again
    LIMIT.write_text("10000")
    recorder.wait_until(lambda _: watcher.mode == "watching")
    (root / "d19" / "file").touch()
    recorder.expect_paths("d19/file")
    assert len(recorder.errors) == 1
    print(recorder.errors[0])
"""

FEW_DESCRIPTORS = """
import os, resource, sys
from pathlib import Path
from watching.recorder import watched

lowest = os.open("/dev/null", os.O_RDONLY)
os.close(lowest)
resource.setrlimit(resource.RLIMIT_NOFILE, (lowest, lowest))
with watched(Path(sys.argv[1])) as (watcher, recorder):
    recorder.wait_until(lambda recorder: bool(recorder.errors))
    assert watcher.mode == "polling", watcher.mode
    print(recorder.errors[0])
"""


def run_child(code: str, root: Path, *before: str) -> str:
    tests = Path(__file__).parents[1]
    search = f"import sys; sys.path[:0] = [{str(tests)!r}, {str(tests.parent)!r}]\n"
    done = subprocess.run(
        [*before, sys.executable, "-c", search + code, str(root)],
        capture_output=True,
        check=False,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "repo"
    for number in range(20):
        (root / f"d{number}").mkdir(parents=True)
    return root


@linux_only
def test_used_up_watches_are_said_once_polled_and_tried_again(root: Path) -> None:
    unshare = shutil.which("unshare")
    if unshare is None or subprocess.run([unshare, "-Ur", "true"], check=False).returncode:
        pytest.skip("no user namespaces here")
    said = run_child(FEW_WATCHES, root, unshare, "-Ur")
    if said.startswith("not possible"):
        pytest.skip(said)
    assert "fs.inotify.max_user_watches" in said
    assert str(root) in said


@linux_only
def test_used_up_descriptors_are_said_and_polled(root: Path) -> None:
    assert "ulimit -n" in run_child(FEW_DESCRIPTORS, root)


@linux_only
def test_a_queue_that_overflows_is_a_sweep_and_all_folders_are_watched_after_it(
    root: Path,
) -> None:
    if int(QUEUE_LIMIT.read_text(encoding="ascii")) > LARGEST_QUEUE:
        pytest.skip("this system's queue is too long to be filled")
    folders = InotifySource(str(root))
    try:
        folders.refresh_watches()
        for number in range(LARGEST_QUEUE):
            (root / f"d{number % 20}" / "file").touch()  # two events or more
        (root / "d3").rename(root / "moved")
        (root / "new" / "deep").mkdir(parents=True)
        while not folders.wait(1.0).needs_rescan:
            pass
        while folders.wait(0.0).paths:
            pass
        (root / "new" / "deep" / "file").touch()
        (root / "moved" / "other").touch()
        assert folders.wait(1.0).paths == {"new/deep/file", "moved/other"}
    finally:
        folders.close()


@linux_only
def test_a_network_drive_is_polled_in_addition(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watcher_module, "needs_polling", lambda _: True)
    with watched(root, timings=WatchTimings(poll=0.2, min_rescan=0.05)) as (watcher, recorder):
        assert watcher.mode == "polling"
        recorder.list_paths_until_now(root)
        recorder.wait_for_rescans(1)
        assert recorder.errors == []


def test_polling_begins_and_ends() -> None:
    recorder = ChangeRecorder()
    notifier = ChangeNotifier(recorder.notify, WatchTimings(poll=0.1, min_rescan=0.01))
    notifier.thread.start()
    notifier.set_polling(enabled=True)
    recorder.wait_for_rescans(2)
    notifier.set_polling(enabled=False)
    recorder.changes.clear()
    notifier.report(["a"])
    recorder.expect_paths("a")
    notifier.close()
    notifier.thread.join(60)
    assert recorder.changes[-1] == ChangedPaths(frozenset({"a"}), needs_rescan=False)


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "fs.inotify.max_user_watches"),
        (errno.EMFILE, "fs.inotify.max_user_instances"),
        (errno.EACCES, "change its permissions"),
        (errno.ENOSYS, "local disk"),
    ],
)
def test_every_trouble_says_where_and_what_to_do(number: int, advice: str, tmp_path: Path) -> None:
    said = explain_watch_error(OSError(number, "refused"), tmp_path)
    assert advice in said
    assert str(tmp_path) in said
    assert said.endswith("every few seconds.")
