"""The vault as a command uses it beside a kernel that may be running."""

from collections.abc import Mapping

from kernel.storage.instance_lock import InstanceLock
from kernel.storage.user_data import UserData
from kernel.storage.vault import Vault


class CommandVault(Vault):
    """Sets aside what cannot be read only while no kernel serves the same userData."""

    def __init__(self, user_data: UserData, environ: Mapping[str, str]) -> None:
        self._instance = InstanceLock(user_data.lock_file)
        super().__init__(user_data, environ, may_set_aside=self._instance.acquire)

    def close(self) -> None:
        """Let go of the file, and of the right to move it."""
        super().close()
        self._instance.release()
