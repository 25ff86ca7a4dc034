"""Delete the vectors of an index that no selected config uses."""

import logging
from collections.abc import Collection

from codekernel.storage.index_store import IndexStore, list_vectors_folders

logger = logging.getLogger(__name__)

# Fingerprints of models that came with codekernel once (codekernel-static-v1, -v2): their vectors
# cannot be searched any more, whatever the settings say.
OUTDATED_MODELS = frozenset({"f9270d03cd4ee0a6", "387b0376004604bb"})


def delete_unused_vectors(store: IndexStore, used: Collection[str], *, is_certain: bool) -> None:
    """Delete what is not in one of the folders ``used``; only old models without certainty."""
    for folder in list_vectors_folders(store.folder):
        is_outdated = folder.name.partition("-")[0] in OUTDATED_MODELS
        if folder.name not in used and (is_certain or is_outdated):
            logger.info("deleting vectors that no selected config uses: %s", folder.name)
            store.delete_vectors(folder)
