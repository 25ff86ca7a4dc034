"""The ways in which a file of an index is damaged by chance."""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

PAGE_BYTES = 4096
MAX_GARBAGE_BYTES = 20_000

Damage = Callable[[Path, random.Random], None]


def flip_bit(file: Path, chance: random.Random) -> None:
    """Change one bit."""
    content = bytearray(file.read_bytes())
    if content:
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        _overwrite(file, bytes(content))


def flip_bits(file: Path, chance: random.Random) -> None:
    """Change some bits, far apart."""
    for _ in range(chance.randint(2, 20)):
        flip_bit(file, chance)


def zero_page(file: Path, chance: random.Random) -> None:
    """Write zeros over a page, as a disk does that has lost it."""
    content = bytearray(file.read_bytes())
    start = chance.randrange(max(1, len(content))) // PAGE_BYTES * PAGE_BYTES
    content[start : start + PAGE_BYTES] = bytes(len(content[start : start + PAGE_BYTES]))
    _overwrite(file, bytes(content))


def garbage_inside(file: Path, chance: random.Random) -> None:
    """Write garbage over some bytes."""
    content = bytearray(file.read_bytes())
    start = chance.randrange(max(1, len(content)))
    length = min(len(content) - start, chance.randint(1, 600))
    content[start : start + length] = chance.randbytes(length)
    _overwrite(file, bytes(content))


def truncate(file: Path, chance: random.Random) -> None:
    """Cut the end off; in another file of the same name, for what is mapped must not shrink."""
    _replace(file, file.read_bytes()[: chance.randrange(max(1, file.stat().st_size))])


def empty(file: Path, _chance: random.Random) -> None:
    """Leave nothing in it."""
    _replace(file, b"")


def garbage(file: Path, chance: random.Random) -> None:
    """Put something else in its place."""
    _replace(file, chance.randbytes(chance.randint(1, MAX_GARBAGE_BYTES)))


def append(file: Path, chance: random.Random) -> None:
    """Write garbage after its end."""
    _replace(file, file.read_bytes() + chance.randbytes(chance.randint(1, 5000)))


def delete(file: Path, _chance: random.Random) -> None:
    """Remove it."""
    file.unlink()


def folder_instead(file: Path, chance: random.Random) -> None:
    """Put a folder in its place, sometimes with something in it."""
    file.unlink()
    file.mkdir()
    if chance.getrandbits(1):
        (file / "inside").write_bytes(b"something")


def pipe_instead(file: Path, _chance: random.Random) -> None:
    """Put a pipe in its place, for whose content a reader waits for ever."""
    file.unlink()
    os.mkfifo(file)


def loop_instead(file: Path, _chance: random.Random) -> None:
    """Put a link to itself in its place."""
    file.unlink()
    file.symlink_to(file.name)


def delete_folder(file: Path, _chance: random.Random) -> None:
    """Remove the folder that it is in."""
    shutil.rmtree(file.parent)


def file_instead_of_folder(file: Path, chance: random.Random) -> None:
    """Put a file in the place of the folder that it is in."""
    shutil.rmtree(file.parent)
    file.parent.write_bytes(chance.randbytes(100))


def _overwrite(file: Path, content: bytes) -> None:
    with file.open("r+b") as opened:  # the same file, also for who has it open
        opened.write(content)


def _replace(file: Path, content: bytes) -> None:
    file.unlink()
    file.write_bytes(content)


# Bits most often, because nothing but a checksum notices them.
TO_FILES: tuple[Damage, ...] = (
    *([flip_bit] * 8), *([flip_bits] * 3), *([zero_page] * 2), *([garbage_inside] * 2),
    *([truncate] * 2), empty, garbage, append, *([delete] * 2), *([folder_instead] * 2),
    pipe_instead, loop_instead,
)  # fmt: skip
TO_FOLDERS: tuple[Damage, ...] = (delete_folder, file_instead_of_folder)
FOLDERS_SHARE = 0.04


def damage_something(folder: Path, chance: random.Random) -> str:
    """Damage one file of an index; returns what was done, in words."""
    kinds: dict[str, list[Path]] = {}
    for file in sorted(folder.rglob("*")):
        if file.is_file() and not file.is_symlink():
            kinds.setdefault(_kind(file.relative_to(folder)), []).append(file)
    if not kinds:
        return "nothing is left"
    # Each kind of file as often as any other; large ones would be hit nearly always.
    kind = chance.choice(sorted(kinds))
    file = chance.choice(kinds[kind])
    inside = file.parent != folder
    deed = chance.choice(TO_FOLDERS if inside and chance.random() < FOLDERS_SHARE else TO_FILES)
    deed(file, chance)
    return f"{deed.__name__} {kind}"


def _kind(path: Path) -> str:
    """A file without the part of its name that is drawn anew each time."""
    if len(path.parts) == 1:
        return path.name
    return "/".join((path.parts[0], *path.parts[2:-1], path.suffix or path.name))
