import sys
from pathlib import Path

import pytest
from codekernel.watching.polling import (
    Mount,
    has_remote_mount,
    is_remote_file_system,
    needs_polling,
    parse_mountinfo,
)

MOUNTINFO = r"""21 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
30 21 0:26 / /proc rw,nosuid - proc proc rw
40 21 0:50 / /home/me/team\040share rw shared:7 master:2 - cifs //server/share rw,vers=3
41 21 0:51 / /home/me/code rw - fuse.sshfs me@host:/code rw
42 21 0:52 / /home/me/secret rw - fuse.gocryptfs /home/me/cipher rw
garbage
"""


@pytest.mark.parametrize(
    ("kind", "remote"),
    [
        ("nfs4", True), ("cifs", True), ("smb3", True), ("9p", True), ("virtiofs", True),
        ("fuse.sshfs", True), ("fuse.rclone", True), ("smbfs", True),
        ("ext4", False), ("btrfs", False), ("fuseblk", False), ("fuse.gocryptfs", False),
        ("overlay", False), ("tmpfs", False), ("NTFS", False), ("apfs", False), ("", False),
    ],
)  # fmt: skip
def test_file_systems_that_others_can_change_are_known(kind: str, remote: bool) -> None:  # noqa: FBT001
    assert is_remote_file_system(kind) is remote


@pytest.mark.skipif(sys.platform == "win32", reason="folders of a Linux machine")
@pytest.mark.parametrize(
    ("root", "remote"),
    [
        ("/home/me/team share/repo", True),
        ("/home/me/team share", True),
        ("/home/me/team", False),
        ("/home/me/code/x", True),
        ("/home/me/codex", False),
        ("/home/me/secret/repo", False),
        ("/home/me", True),  # a share is mounted below it
        ("/srv", False),
    ],
)
def test_the_mount_that_holds_a_root_or_lies_below_it_decides(root: str, remote: bool) -> None:  # noqa: FBT001
    assert has_remote_mount(root, parse_mountinfo(MOUNTINFO)) is remote


@pytest.mark.skipif(sys.platform == "win32", reason="folders of a Linux machine")
def test_of_mounts_over_each_other_the_last_counts() -> None:
    assert not has_remote_mount("/data/repo", [Mount("/data", "nfs"), Mount("/data", "ext4")])
    assert has_remote_mount("/data/repo", [Mount("/data", "ext4"), Mount("/data", "nfs")])


@pytest.mark.skipif(sys.platform != "linux", reason="has /proc")
def test_the_mounts_of_this_machine_are_read(tmp_path: Path) -> None:
    mounts = parse_mountinfo(Path("/proc/self/mountinfo").read_text(encoding="utf-8"))
    assert "/proc" in {mount.folder for mount in mounts}
    assert needs_polling(Path("/")) == has_remote_mount("/", mounts)
