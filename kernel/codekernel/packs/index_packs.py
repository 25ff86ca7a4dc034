"""The packs of whole indexes in the store of a team: names, list, send, fetch, delete.

The name of a pack tells a member which commit it is of, and anybody else nothing; the label of the
repository is what ``pack build`` was told. A pack is fetched in pieces: what was interrupted goes
on where it ended.
"""

import hashlib
import re
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from codekernel.domain.concurrency import CancelToken
from codekernel.errors import Cancelled, StorageError
from codekernel.packs.commits import CommitPlace
from codekernel.packs.index_parts import ANALYSIS
from codekernel.packs.pack_archive import (
    FOOTER_BYTES,
    MAGIC,
    PackArchive,
    PackedConfig,
    PackManifest,
    PackRefused,
    parse_tail,
)
from codekernel.packs.signatures import (
    MAX_SIGNATURE_BYTES,
    SIGNATURE_SUFFIX,
    PublicKey,
    SigningKey,
    require_signature,
)
from codekernel.sharing.object_store import ObjectMissing, StoredObject
from codekernel.sharing.team import OpenedStore
from codekernel.storage.safe_files import make_private_folder, translate_os_errors

PACKS_PREFIX = "indexes/1/"

# Larger than the pack of ten million chunks.
MAX_PACK_BYTES = 10_000_000_000

PIECE_BYTES, PARALLEL_PIECES = 2_000_000, 4

LIST_TIMEOUT_SECONDS, PIECE_TIMEOUT_SECONDS = 5.0, 30.0

# A rate is judged after so long.
GRACE_SECONDS = 10.0

# Enough for the manifest of all but very large indexes.
_TAIL_BYTES = 32_768

_DAY_SECONDS = 24 * 60 * 60

_NAME = re.compile(
    rf"{PACKS_PREFIX}[0-9a-f]{{16}}/"
    r"(?P<label>[a-z0-9][a-z0-9._-]{0,63})/(?P<commit>[0-9a-f]{32})-(?P<profile>[0-9a-f]{16})"
    r"-(?P<owner>[0-9a-f]{16})-[0-9a-f]{16}\.pack"
)


class StoreTooSlow(StorageError):
    """Building the index here is faster than fetching it."""


@dataclass(frozen=True, slots=True)
class StoredIndexPack:
    """A pack as a listing shows it; ``commit`` and ``profile`` are hashes."""

    name: str
    label: str
    commit: str
    profile: str
    owner: str
    size: int
    sent_at: float
    is_signed: bool

    @property
    def days(self) -> float:
        """How long ago it was sent."""
        return (time.time() - self.sent_at) / _DAY_SECONDS


@dataclass(frozen=True, slots=True)
class NearestPack:
    """The pack of a commit; ``distance`` commits before the one that is checked out."""

    pack: StoredIndexPack
    place: CommitPlace
    distance: int


def make_label(name: str) -> str:
    """Return the name of a repository as it may stand in the name of a pack."""
    return re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-._")[:64] or "repository"


class IndexPacks:
    """The packs of one team; used by one thread."""

    def __init__(
        self,
        opened: OpenedStore,
        clock: Callable[[], float] = time.monotonic,
        *,
        trusted: Sequence[PublicKey] = (),
        key: SigningKey | None = None,
    ) -> None:
        """One of ``trusted`` must have signed what is found, if any are named; ``key`` signs."""
        self._clock, self._trusted, self._key = clock, trusted, key
        self.secret = opened.secret
        self._store = opened.store
        self._folder = f"{PACKS_PREFIX}{opened.secret.tag}/"

    def hash_profile(self, configs: Iterable[PackedConfig]) -> str:
        """Return what is the same for everybody who can use the same packs."""
        wanted = sorted((each.model, each.max_chunk_chars) for each in configs)
        return self.secret.hash_name(f"profile {ANALYSIS} {wanted}")[:16]

    def list_packs(self) -> list[StoredIndexPack]:
        """Return all packs of this team, newest first. Raises StoreUnavailable."""
        return self._list_in(self._folder)

    def list_own(self, owner: str) -> list[StoredIndexPack]:
        """Return the packs that a machine has sent, with any salt. Raises StoreUnavailable."""
        return [pack for pack in self._list_in(PACKS_PREFIX) if pack.owner == owner]

    def find_nearest(self, profile: str, places: Sequence[CommitPlace]) -> NearestPack | None:
        """Return the pack of the first of these commits that has one.

        Raises StoreUnavailable, and PackRefused if a signature is wanted and there is none.
        """
        packs = [pack for pack in reversed(self.list_packs()) if pack.profile == profile]
        wanted = [pack for pack in packs if pack.is_signed] if self._trusted else packs
        if nearest := self._choose_nearest(wanted, places):
            return nearest
        if unsigned := self._choose_nearest(packs, places):
            raise PackRefused(
                f"the pack of {unsigned.place.commit[:12]} is not signed, and sharing.trustedKeys"
                " asks for a signature"
            )
        return None

    def _choose_nearest(
        self, packs: Sequence[StoredIndexPack], places: Sequence[CommitPlace]
    ) -> NearestPack | None:
        known = {pack.commit: pack for pack in packs}
        for distance, place in enumerate(places if known else ()):
            if pack := known.get(self._hash_commit(place)):
                return NearestPack(pack, place, distance)
        return None

    def read_manifest(self, pack: StoredIndexPack) -> PackManifest:
        """Return what a pack says of itself. Raises StoreUnavailable, PackRefused."""
        tail_bytes = _TAIL_BYTES
        while True:
            begin = max(0, pack.size - tail_bytes)
            if pack.size < FOOTER_BYTES + len(MAGIC):
                raise PackRefused("it is cut off")
            (tail,) = self._store.read_ranges(pack.name, [(begin, pack.size)])
            if manifest := parse_tail(tail, self.secret):
                return manifest
            if not begin:
                raise PackRefused("it is cut off")
            tail_bytes *= 8

    def send(self, path: Path, label: str, place: CommitPlace, profile: str, owner: str) -> str:
        """Send a pack; return its name, which no other content has. Raises StoreUnavailable."""
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()[:16]
        commit = self._hash_commit(place)
        name = f"{self._folder}{label}/{commit}-{profile}-{owner}-{digest}.pack"
        if self._key:  # first, so that nobody finds the pack without it
            signature = self._key.sign(path, f"codekernel index of {label}, {place.name}")
            self._store.write(name + SIGNATURE_SUFFIX, signature)
        self._store.write_file(name, path)
        return name

    def delete(self, pack: StoredIndexPack) -> None:
        """Delete a pack. Raises StoreUnavailable."""
        self._store.delete(pack.name)
        if pack.is_signed:
            self._store.delete(pack.name + SIGNATURE_SUFFIX)

    def require_signature(self, pack: StoredIndexPack, path: Path) -> None:
        """Raise PackRefused unless a key that is trusted has signed a pack that was fetched."""
        if not self._trusted:
            return
        name = pack.name + SIGNATURE_SUFFIX
        try:
            (content,) = self._store.read_ranges(name, [(0, MAX_SIGNATURE_BYTES)])
        except ObjectMissing:
            raise PackRefused("its signature is gone") from None
        require_signature(path, content, self._trusted)

    def fetch(
        self,
        pack: StoredIndexPack,
        path: Path,
        cancel: CancelToken,
        report: Callable[[int], None] = lambda _: None,
        *,
        min_bytes_per_second: float = 0.0,
    ) -> None:
        """Fetch a pack into a file, after what is there of it already.

        Raises StoreUnavailable, StorageError, PackRefused, Cancelled, and StoreTooSlow.
        """
        if pack.size > MAX_PACK_BYTES:
            raise PackRefused(f"it has {pack.size // 2**20} MB, more than any index")
        make_private_folder(path.parent)
        with translate_os_errors(path), path.open("ab") as file:
            done = file.tell()
            if done > pack.size:
                file.truncate(0)
                done = 0
            began, had = self._clock(), done
            while done < pack.size:
                end = min(done + PIECE_BYTES * PARALLEL_PIECES, pack.size)
                pieces = self._read_pieces(pack, done, end)
                # Only now: somebody else may go on with the file of one who was cancelled.
                if cancel.is_cancelled:
                    raise Cancelled("the team's index is not wanted any more")
                for piece in pieces:
                    file.write(piece)
                file.flush()
                done = end
                report(done)
                seconds = self._clock() - began
                rate = (done - had) / max(seconds, 1e-3)
                if done < pack.size and seconds > GRACE_SECONDS and rate < min_bytes_per_second:
                    raise StoreTooSlow(
                        f"the store gives {rate / 1000:.0f} KB a second, which would take"
                        f" {(pack.size - done) / rate / 60:.0f} minutes. codekernel pack pull waits"
                        " for it, where there is no index yet"
                    )

    def _read_pieces(self, pack: StoredIndexPack, begin: int, end: int) -> list[bytes]:
        begins = range(begin, end, PIECE_BYTES)
        spans = [(first, min(first + PIECE_BYTES, end)) for first in begins]
        pieces = self._store.read_ranges(pack.name, spans, PIECE_TIMEOUT_SECONDS)
        if list(map(len, pieces)) != [last - first for first, last in spans]:
            raise PackRefused("it is shorter than the store says")
        return pieces

    def check(
        self, archive: PackArchive, nearest: NearestPack, configs: Sequence[PackedConfig]
    ) -> None:
        """Raise PackRefused unless a pack is of the commit and the models that its name says."""
        found = archive.manifest
        if (found.commit, found.prefix) != (nearest.place.commit, nearest.place.prefix):
            raise PackRefused("it is of another commit than its name says")
        wanted = {(each.model, each.max_chunk_chars) for each in configs}
        if found.analysis != ANALYSIS or wanted != {
            (each.model, each.max_chunk_chars) for each in found.configs
        }:
            raise PackRefused("it is of another model or version than its name says")
        archive.prove_parts()

    def _hash_commit(self, place: CommitPlace) -> str:
        return self.secret.hash_name(f"commit {place.name}")

    def _list_in(self, folder: str) -> list[StoredIndexPack]:
        listed = self._store.list_objects(folder, LIST_TIMEOUT_SECONDS)
        names = {each.name for each in listed}
        found = (_parse_object(each, names) for each in listed)
        return sorted(filter(None, found), key=lambda pack: -pack.sent_at)


def _parse_object(found: StoredObject, listed: Collection[str]) -> StoredIndexPack | None:
    match = _NAME.fullmatch(found.name)
    if match is None:
        return None
    label, commit, profile, owner = match.group("label", "commit", "profile", "owner")
    is_signed = found.name + SIGNATURE_SUFFIX in listed
    size, sent_at = found.size, found.modified_at
    return StoredIndexPack(found.name, label, commit, profile, owner, size, sent_at, is_signed)


def select_expired(
    packs: Sequence[StoredIndexPack], max_days: float, kept: int
) -> list[StoredIndexPack]:
    """Return the packs that are older than so many days, but not the newest of a repository."""
    expired, counts = [], dict[tuple[str, str], int]()
    for pack in sorted(packs, key=lambda each: -each.sent_at):
        kind = (pack.label, pack.profile)
        counts[kind] = counts.get(kind, 0) + 1
        if counts[kind] > kept and pack.days > max_days:
            expired.append(pack)
    return expired
