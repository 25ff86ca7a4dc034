"""The store of a team as the settings name it, and what this machine has contributed to it.

The salt and the keys of the store come from the vault, or for CI from the environment; without a
salt nothing is shared.
"""

import logging
import re
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from codekernel.domain.settings import SharingMode, SharingSettings
from codekernel.errors import ApiKeyNotFound, KernelError, StorageError
from codekernel.sharing.contributions import PackOutbox
from codekernel.sharing.object_store import ObjectStore, StorePlace
from codekernel.sharing.served_models import ServedModels
from codekernel.sharing.team_vectors import OUTBOX_FOLDER, TeamVectors
from codekernel.sharing.vector_pack import PackFormat, PackName, TeamSecret, parse_pack_name
from codekernel.sharing.vector_speeds import VectorSpeed, read_speeds
from codekernel.storage.safe_files import write_bytes_atomically
from codekernel.storage.user_data import UserData

logger = logging.getLogger(__name__)

# Names of secrets in the vault.
SALT_NAME, CREDENTIALS_NAME = "sharing:salt", "sharing:credentials"

SALT_VARIABLE = "CODEKERNEL_SHARING_SALT"

SIGNING_KEY_NAME, SIGNING_KEY_VARIABLE = "sharing:signing-key", "CODEKERNEL_SIGNING_KEY"

MIN_SALT_CHARS = 16

# A salt that is missing is looked for again after so long, and keys that were refused.
RETRY_SECONDS = 30.0

_VECTORS_PREFIX = "vectors/1/"

_OWNER = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class OpenedStore:
    """A store and the team's secret."""

    store: ObjectStore
    secret: TeamSecret


@dataclass(frozen=True, slots=True)
class ContributedModel:
    """The packs of one model in a store, of everybody and of this machine."""

    model: str
    is_own_salt: bool
    packs: int = 0
    vectors: int = 0
    size_bytes: int = 0
    own_packs: int = 0
    own_vectors: int = 0


class Team:
    """What this userData folder shares; used by any thread."""

    def __init__(
        self,
        user_data: UserData,
        get_settings: Callable[[], SharingSettings],
        get_secret: Callable[[str], str],
        environ: Mapping[str, str],
    ) -> None:
        """``get_secret`` reads the vault, and raises ApiKeyNotFound."""
        self._folder = user_data.sharing_folder
        self._outbox = PackOutbox(self._folder / OUTBOX_FOLDER)
        self._get_settings = get_settings
        self._get_secret = get_secret
        self._environ = environ
        self._lock = threading.Lock()
        self._opened_for: SharingSettings | None = None
        self._opened: OpenedStore | None = None
        self._reopen_at = 0.0
        self._vectors: dict[str, TeamVectors] = {}

    def get_vectors(self, model: str, dimensions: int) -> TeamVectors | None:
        """Return the team's vectors of a model; None if nothing is shared, or not now."""
        settings = self._get_settings()
        if not settings.store:
            return None
        with self._lock:
            if settings != self._opened_for or self._is_reopening_due():
                self._reopen(settings)
            if self._opened is None:
                return None
            if model not in self._vectors:
                pack_format = PackFormat(self._opened.secret, model, dimensions)
                owner = self.read_owner() if settings.mode is SharingMode.READ_WRITE else ""
                store = self._opened.store
                self._vectors[model] = TeamVectors(store, pack_format, self._folder, owner)
            return self._vectors[model]

    def get_served_models(self) -> ServedModels | None:
        """Return what the team has noted of remote models; None if nothing is shared."""
        try:
            opened = self.open_store()
            owner = self.read_owner() if self.can_write else ""
        except KernelError:
            return None
        return ServedModels(opened.store, opened.secret, owner)

    @property
    def is_shared(self) -> bool:
        """Whether the settings name a store."""
        return bool(self._get_settings().store)

    @property
    def can_write(self) -> bool:
        """Whether the settings let this machine contribute."""
        return self._get_settings().mode is SharingMode.READ_WRITE

    @property
    def trusted_keys(self) -> tuple[str, ...]:
        """Whose packs are used; empty for those of everybody who has the salt."""
        return self._get_settings().trusted_keys

    def read_signing_key(self) -> str:
        """Return what this machine signs packs with; empty if it does not."""
        return self._environ.get(SIGNING_KEY_VARIABLE) or self._read_secret(SIGNING_KEY_NAME)

    def open_store(self) -> OpenedStore:
        """Return the store of the settings; nothing is contacted. Raises KernelError."""
        settings = self._get_settings()
        if not settings.store:
            raise StorageError(
                "Nothing is shared: sharing.store in settings.json names no folder or bucket"
            )
        salt = self._environ.get(SALT_VARIABLE) or self._read_secret(SALT_NAME)
        if len(salt) < MIN_SALT_CHARS:
            problem = "is missing" if not salt else f"has fewer than {MIN_SALT_CHARS} characters"
            raise StorageError(
                f"Nothing is shared with the team: its salt {problem}. Everybody of a team sets"
                f" the same one: codekernel key set {SALT_NAME}"
            )
        place = StorePlace(
            settings.store,
            settings.endpoint,
            settings.region,
            self._read_secret(CREDENTIALS_NAME) if "://" in settings.store else "",
        )
        return OpenedStore(ObjectStore(place, self._environ), TeamSecret.from_salt(salt))

    def read_owner(self) -> str:
        """Return the random name under which this machine contributes. Raises StorageError."""
        path = self._folder / "contributor"
        try:
            owner = path.read_text("ascii").strip()
        except (OSError, UnicodeDecodeError):
            owner = ""
        if not _OWNER.fullmatch(owner):
            owner = secrets.token_hex(8)
            write_bytes_atomically(path, owner.encode())
        return owner

    def list_contributions(self) -> list[ContributedModel]:
        """Return what the store holds, by model. Raises KernelError."""
        opened, owner = self.open_store(), self.read_owner()
        found: dict[tuple[str, str], _Sums] = {}
        for each in opened.store.list_objects(_VECTORS_PREFIX):
            if pack := parse_pack_name(each.name):
                tag, model = each.name.removeprefix(_VECTORS_PREFIX).split("/")[:2]
                found.setdefault((tag, model), _Sums()).add(pack, each.size, owner)
        return [
            sums.describe(model, is_own_salt=tag == opened.secret.tag)
            for (tag, model), sums in found.items()
        ]

    def forget_contributions(self) -> int:
        """Delete every pack that this machine has contributed; return how many vectors.

        And what it noted of remote models. Raises KernelError.
        """
        opened, owner = self.open_store(), self.read_owner()
        store = opened.store
        ServedModels(store, opened.secret, owner).forget()
        packs = [parse_pack_name(each.name) for each in store.list_objects(_VECTORS_PREFIX)]
        own = [pack for pack in packs if pack and pack.owner == owner]
        for pack in own:
            store.delete(pack.name)
        return sum(pack.rows for pack in own)

    def read_speeds(self) -> dict[str, VectorSpeed]:
        """Return how quickly vectors are computed and fetched here, by the digits of a model."""
        return read_speeds(self._folder)

    def count_waiting(self) -> int:
        """Return how many vectors wait in the outbox."""
        return sum(pack.rows for pack, _ in self._outbox.list_packs())

    def send_waiting(self) -> int:
        """Send what waits in the outbox now; return how many vectors. Raises KernelError."""
        return self._outbox.send_all(self.open_store().store)

    def try_store(self) -> str:
        """Use the store once, in each way the settings ask for; return what was wrong, or nothing.

        What is written is deleted again.
        """
        try:
            store = self.open_store().store
            store.list_objects(_VECTORS_PREFIX)
            if self._get_settings().mode is SharingMode.READ_WRITE:
                name = f"probes/{self.read_owner()}-{secrets.token_hex(8)}"
                store.write(name, b"codekernel")
                if store.read(name) != b"codekernel":
                    return "what was written to it is not what is read"
                store.delete(name)
        except KernelError as error:
            return str(error)
        return ""

    def _is_reopening_due(self) -> bool:
        has_problem = self._opened is None or any(it.problem for it in self._vectors.values())
        return has_problem and time.monotonic() >= self._reopen_at

    def _reopen(self, settings: SharingSettings) -> None:
        """Open the store anew: other settings, or perhaps another key in the vault."""
        is_first = settings != self._opened_for
        try:
            opened = self.open_store()
        except KernelError as error:
            opened = None
            if is_first:
                logger.warning("%s", error)
        is_same = (
            opened
            and self._opened
            and opened.secret == self._opened.secret
            and opened.store.place == self._opened.store.place
        )
        if is_first or not is_same:
            self._opened = opened
            self._vectors = {}
        self._opened_for = settings
        self._reopen_at = time.monotonic() + RETRY_SECONDS

    def _read_secret(self, name: str) -> str:
        try:
            return self._get_secret(name)
        except ApiKeyNotFound:
            return ""


@dataclass(slots=True)
class _Sums:
    packs: list[PackName] = field(default_factory=list)
    own: list[PackName] = field(default_factory=list)
    size_bytes: int = 0

    def add(self, pack: PackName, size: int, owner: str) -> None:
        self.packs.append(pack)
        self.size_bytes += size
        if pack.owner == owner:
            self.own.append(pack)

    def describe(self, model: str, *, is_own_salt: bool) -> ContributedModel:
        return ContributedModel(
            model,
            is_own_salt,
            len(self.packs),
            sum(pack.rows for pack in self.packs),
            self.size_bytes,
            len(self.own),
            sum(pack.rows for pack in self.own),
        )
