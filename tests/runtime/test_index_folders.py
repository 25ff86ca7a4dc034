import re
from pathlib import Path

from codekernel.runtime.index_folders import find_unregistered_index
from codekernel.storage.user_data import UserData


def test_a_folder_without_registration_has_an_index_named_after_its_path() -> None:
    data = UserData(Path("/data"))
    one, other = (find_unregistered_index(data, Path(root)) for root in ("/code/one", "/code/two"))
    assert one == find_unregistered_index(data, Path("/code/one"))
    assert one != other
    assert one.parent == data.indexes_folder
    assert re.fullmatch("folder-[0-9a-f]{16}", one.name)
