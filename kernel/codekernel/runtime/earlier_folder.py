"""The folder that the desktop app had for itself, taken over when no process uses it any more."""

import logging
import threading
from collections.abc import Mapping

from codekernel.errors import KernelError
from codekernel.storage.user_data import UserData, find_earlier_desktop_folder, has_untaken_data
from codekernel.storage.vault.vault import Vault

logger = logging.getLogger(__name__)


class EarlierDesktopFolder:
    """Takes the folder over once; safe to use from any thread."""

    def __init__(self, user_data: UserData, vault: Vault, environ: Mapping[str, str]) -> None:
        self._user_data = user_data
        self._vault = vault
        self._environ = environ
        self._lock = threading.Lock()
        self._is_over = False

    def take_over(self) -> bool:
        """Merge the folder if it is there and free; true if that was done now.

        In use by an earlier version it is tried again at the next call, after an error at the next
        start.
        """
        with self._lock:
            if self._is_over:
                return False
            source = find_earlier_desktop_folder(self._user_data)
            if source is None or not has_untaken_data(source):
                self._is_over = True
                return False
            from codekernel.runtime.user_data_merge import merge_user_data  # noqa: PLC0415 - once

            try:
                self._is_over = merge_user_data(source, self._user_data, self._vault, self._environ)
            except KernelError as error:
                logger.warning("%s is taken over at a later start. %s", source.root, error)
                self._is_over = True
                return False
            return self._is_over
