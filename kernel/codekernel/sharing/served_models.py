"""Which remote models a team has met: what one of them noted, the others call the same.

A server does not repeat a vector to the last bit, so no digest of vectors is safe from two members
who get different ones for one model. What the first has noted of it lies in the store; others
compare what they get with that. A note is small, written once, and proved with the team's salt.
"""

import hashlib
import logging

from codekernel.sharing.object_store import ObjectStore, StoreUnavailable
from codekernel.sharing.vector_pack import TeamSecret

logger = logging.getLogger(__name__)

_PREFIX = "served/1/"

# Opening a model waits for it.
TIMEOUT_SECONDS = 3.0

# Of one model behind one address: each change of the model is a note.
MAX_NOTES, MAX_NOTE_BYTES = 16, 100_000

_PROOF_BYTES = 16


class ServedModels:
    """The notes of a team; used by any thread."""

    def __init__(self, store: ObjectStore, secret: TeamSecret, owner: str) -> None:
        """``owner`` is empty for a member that only reads."""
        self._store, self._secret, self._owner = store, secret, owner

    def read(self, key: str) -> list[bytes]:
        """Return what was noted of a model, oldest first; nothing while the store is away."""
        notes: list[bytes] = []
        try:
            listed = self._store.list_objects(self._name_folder(key), TIMEOUT_SECONDS)
            for each in sorted(listed, key=lambda it: (it.modified_at, it.name))[:MAX_NOTES]:
                if each.size <= MAX_NOTE_BYTES:
                    content = self._store.read(each.name, TIMEOUT_SECONDS)
                    proof, note = content[:_PROOF_BYTES], content[_PROOF_BYTES:]
                    if proof == self._prove(key, note):
                        notes.append(note)
        except StoreUnavailable as error:
            logger.info("the team may have met a remote model before: %s", error)
        return notes

    def publish(self, key: str, note: bytes) -> bool:
        """Note something of a model; return whether the store has it now."""
        if not self._owner:
            return False
        digest = hashlib.sha256(note).hexdigest()[:32]
        name = f"{self._name_folder(key)}{self._owner}-{digest}.json"
        try:
            self._store.write(name, self._prove(key, note) + note, TIMEOUT_SECONDS)
        except StoreUnavailable as error:
            logger.info("a remote model is not noted for the team: %s", error)
            return False
        return True

    def forget(self) -> None:
        """Delete what this machine has noted. Raises StoreUnavailable."""
        for each in self._store.list_objects(_PREFIX):
            if self._owner and each.name.rpartition("/")[2].startswith(f"{self._owner}-"):
                self._store.delete(each.name)

    def _name_folder(self, key: str) -> str:
        return f"{_PREFIX}{self._secret.tag}/{self._secret.hash_name(key)}/"

    def _prove(self, key: str, note: bytes) -> bytes:
        return self._secret.prove(b"served\0" + key.encode() + b"\0" + note, _PROOF_BYTES)
