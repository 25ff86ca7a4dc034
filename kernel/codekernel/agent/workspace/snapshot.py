"""Snapshots of a folder before and after the turn of an agent whose edits we do not make ourselves.

Each folder has a git repository of our own under userData, whose work tree is the folder: trees are
written there, and neither the index, the refs nor the objects of the user's repository are touched.
Its objects are borrowed, so that only what differs from them is stored. Files that git ignores are
not in a snapshot, and nor is what nested repositories hold.
"""

import hashlib
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from codekernel.domain.child_process import CHILD_PROCESS_OPTIONS
from codekernel.errors import KernelError
from codekernel.files.git_repository import find_common_dir, find_git_dir, find_work_tree_top
from codekernel.storage.safe_files import make_private_folder, measure_folder

# The first snapshot reads every file: 100 MB in a second or two. A folder that takes longer has
# no snapshots.
SNAPSHOT_TIMEOUT_SECONDS = 30.0

# More are a checkout or a generator, not edits to look through.
MAX_CHANGED_FILES = 500

MAX_CHANGED_FILE_BYTES = 32 * 1024 * 1024

# What snapshots of one folder may take on disk; then they begin anew.
MAX_SNAPSHOT_BYTES = 512 * 1024 * 1024

# Bytes as they are: no line ending is converted, no filter of the user is run.
_ATTRIBUTES = b"* -text -filter -ident -working-tree-encoding -eol\n"

_OPTIONS = (
    "core.autocrlf=false",
    "core.bare=false",
    "core.compression=1",
    "core.fsmonitor=false",
    "core.hooksPath=",
    "core.looseCompression=1",
    "core.quotePath=false",
    "core.safecrlf=false",
    "gc.auto=0",
)

_SOME_FILES_FAILED = 1

_ABSENT_MODE, _FILE_TYPE = "000000", "100"


class SnapshotUnavailable(KernelError):
    """There is no snapshot, so that changes can be neither listed nor undone; says why."""


@dataclass(frozen=True, slots=True)
class FileDelta:
    """What became of a file between two snapshots; None where it did not exist."""

    path: Path
    before: bytes | None
    after: bytes | None
    is_executable: bool
    # Those that were not there before, outermost first.
    new_folders: tuple[Path, ...] = ()


class FolderSnapshots:
    """The snapshots of all folders of one userData; safe to use from several threads."""

    def __init__(self, user_data: Path, timeout_seconds: float = SNAPSHOT_TIMEOUT_SECONDS) -> None:
        self._timeout_seconds = timeout_seconds
        self._place = user_data / "agent" / "snapshots"
        self._lock = threading.Lock()
        self._shadows: dict[Path, _ShadowRepository] = {}

    @contextmanager
    def open(self, folder: Path) -> Iterator["FolderSnapshot"]:
        """Take a snapshot of a folder and keep it for the block. Raises SnapshotUnavailable."""
        with self._lock:
            shadow = self._shadows.get(folder)
            if shadow is None:
                name = hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]
                shadow = _ShadowRepository(self._place / name, folder, self._timeout_seconds)
                self._shadows[folder] = shadow
        with shadow.use():
            yield FolderSnapshot(shadow, shadow.write_tree())


class FolderSnapshot:
    """The state of a folder at one moment."""

    def __init__(self, shadow: "_ShadowRepository", tree: str) -> None:
        self._shadow = shadow
        self._tree = tree

    def list_changes(self) -> list[FileDelta]:
        """Return what has changed since, by path. Raises SnapshotUnavailable."""
        shadow, now = self._shadow, self._shadow.write_tree()
        fields = shadow.run("diff-tree", "-r", "-z", "--no-renames", self._tree, now).split(b"\0")
        pairs = list(zip(fields[:-1:2], fields[1::2], strict=False))
        if len(pairs) > MAX_CHANGED_FILES:
            raise SnapshotUnavailable(f"{len(pairs):,} files were changed, which is too many")
        known = shadow.list_folders(self._tree) if pairs else frozenset[Path]()
        return [
            delta
            for head, path in pairs
            if (delta := self._read_delta(head.decode("ascii"), path, known))
        ]

    def _read_delta(self, head: str, name: bytes, known: frozenset[Path]) -> FileDelta | None:
        """Return the change of a regular file; None for links, and where only modes differ."""
        old_mode, new_mode, old, new, _ = head.lstrip(":").split()
        modes = [mode for mode in (old_mode, new_mode) if mode != _ABSENT_MODE]
        if old == new or not all(mode.startswith(_FILE_TYPE) for mode in modes):
            return None
        shadow, path = self._shadow, self._shadow.top / os.fsdecode(name)
        before = None if old_mode == _ABSENT_MODE else shadow.read_blob(old)
        after = None if new_mode == _ABSENT_MODE else shadow.read_blob(new)
        inside = [each for each in path.parents if each.is_relative_to(shadow.folder)]
        new_folders = tuple(
            each
            for each in reversed(inside)
            if before is None and each != shadow.folder and each not in known
        )
        return FileDelta(path, before, after, modes[0].endswith("755"), new_folders)


class _ShadowRepository:
    """A git repository of ours for one folder."""

    def __init__(self, git_dir: Path, folder: Path, timeout_seconds: float) -> None:
        self._timeout_seconds = timeout_seconds
        self.folder = folder
        # Ignore rules of the whole repository hold in a folder of it.
        self.top = find_work_tree_top(folder) or folder
        self._git_dir = git_dir
        self._users = 0
        self._lock = threading.RLock()

    @contextmanager
    def use(self) -> Iterator[None]:
        """Keep it from being removed."""
        with self._lock:
            if self._users == 0 and measure_folder(self._git_dir) > MAX_SNAPSHOT_BYTES:
                shutil.rmtree(self._git_dir, ignore_errors=True)
            self._users += 1
        try:
            yield
        finally:
            with self._lock:
                self._users -= 1

    def write_tree(self) -> str:
        """Return the tree of the folder as it is now. Raises SnapshotUnavailable."""
        with self._lock:
            try:
                return self._try_write_tree()
            except SnapshotUnavailable:
                if self._users > 1:
                    raise
                # A kill may have left a lock, and the user's gc may have removed an object.
                shutil.rmtree(self._git_dir, ignore_errors=True)
                return self._try_write_tree()

    def _try_write_tree(self) -> str:
        if not (self._git_dir / "HEAD").is_file():
            self._create()
        folder = os.path.relpath(self.folder, self.top)
        self.run("add", "--all", "--ignore-errors", "--", folder, ok=_SOME_FILES_FAILED)
        return self.run("write-tree").decode("ascii").strip()

    def list_folders(self, tree: str) -> frozenset[Path]:
        """Return the folders of a tree."""
        names = self.run("ls-tree", "-r", "-d", "-z", "--name-only", tree).split(b"\0")
        return frozenset(self.top / os.fsdecode(name) for name in names if name)

    def read_blob(self, name: str) -> bytes:
        """Return the content of a file. Raises SnapshotUnavailable."""
        if int(self.run("cat-file", "-s", name)) > MAX_CHANGED_FILE_BYTES:
            raise SnapshotUnavailable("a changed file is too large")
        return self.run("cat-file", "blob", name)

    def run(self, *words: str, ok: int = 0) -> bytes:
        """Run git on it and return its output. Raises SnapshotUnavailable."""
        program = shutil.which("git")
        if program is None:
            raise SnapshotUnavailable("git is not installed on this machine")
        options = [word for option in _OPTIONS for word in ("-c", option)]
        place = [f"--git-dir={self._git_dir}", f"--work-tree={self.top}"]
        environment = {name: os.environ[name] for name in os.environ if name[:4] != "GIT_"}
        try:
            done: subprocess.CompletedProcess[bytes] = subprocess.run(
                [program, *options, *place, *words],
                cwd=self.top,
                env={**environment, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=self._timeout_seconds,
                check=False,
                **CHILD_PROCESS_OPTIONS,
            )
        except subprocess.TimeoutExpired:
            raise SnapshotUnavailable("the folder is too large for a snapshot") from None
        except OSError as error:
            raise SnapshotUnavailable(f"git: {error.strerror or error}") from error
        if done.returncode not in {0, ok}:
            said = done.stderr.decode(errors="replace").strip().rpartition("\n")[2]
            raise SnapshotUnavailable(f"git says: {said or done.returncode}")
        return done.stdout

    def _create(self) -> None:
        try:
            make_private_folder(self._git_dir)
            self.run("init", "--quiet")
            (self._git_dir / "info").mkdir(exist_ok=True)
            (self._git_dir / "info" / "attributes").write_bytes(_ATTRIBUTES)
            if theirs := find_git_dir(self.top):
                self._borrow(find_common_dir(theirs))
        except OSError as error:
            raise SnapshotUnavailable(f"{error.strerror or error}") from error

    def _borrow(self, common_dir: Path) -> None:
        """Use the objects and the private ignore rules of the user's repository."""
        objects = os.fsencode(common_dir / "objects")
        if b"\n" not in objects:
            (self._git_dir / "objects" / "info" / "alternates").write_bytes(objects + b"\n")
        exclude = common_dir / "info" / "exclude"
        if exclude.is_file():
            shutil.copyfile(exclude, self._git_dir / "info" / "exclude")
