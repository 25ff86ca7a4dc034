import threading
import time
from pathlib import Path

import pytest
from codekernel.adapters.hub.database import HubDatabase
from codekernel.adapters.hub.devices import (
    CODE_TTL_SECONDS,
    DeviceKind,
    DeviceRegistry,
    Pairing,
)


@pytest.fixture
def database(tmp_path: Path) -> HubDatabase:
    return HubDatabase(tmp_path)


def make_pairing(database: HubDatabase) -> Pairing:
    return Pairing(database, DeviceRegistry(database))


def test_a_code_is_good_once(database: HubDatabase) -> None:
    pairing = make_pairing(database)
    code = pairing.make_code()
    paired = pairing.redeem(code, "phone", DeviceKind.DEVICE)
    assert paired is not None
    device, key = paired
    assert DeviceRegistry(database).find_by_key(key) == device
    assert pairing.redeem(code, "another", DeviceKind.DEVICE) is None


def test_a_code_may_be_typed_in_any_way(database: HubDatabase) -> None:
    pairing = make_pairing(database)
    code = pairing.make_code()
    typed = " " + code.lower().replace("-", " ")
    assert pairing.redeem(typed, "phone", DeviceKind.DEVICE) is not None


def test_a_code_of_another_process_is_good(tmp_path: Path, database: HubDatabase) -> None:
    code = make_pairing(HubDatabase(tmp_path)).make_code()
    assert make_pairing(database).redeem(code, "phone", DeviceKind.DEVICE) is not None


def test_an_old_code_is_refused(database: HubDatabase) -> None:
    code = make_pairing(database).make_code()
    later = time.time() + CODE_TTL_SECONDS + 1
    pairing = Pairing(database, DeviceRegistry(database), clock=lambda: later)
    assert pairing.redeem(code, "phone", DeviceKind.DEVICE) is None
    pairing.make_code()


def test_of_many_at_once_one_is_paired(tmp_path: Path, database: HubDatabase) -> None:
    code = make_pairing(database).make_code()
    pairings = [make_pairing(HubDatabase(tmp_path)) for _ in range(4)]
    results: list[object] = []
    barrier = threading.Barrier(len(pairings))

    def redeem(pairing: Pairing) -> None:
        barrier.wait()
        results.append(pairing.redeem(code, "phone", DeviceKind.DEVICE))

    threads = [threading.Thread(target=redeem, args=(each,)) for each in pairings]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(result is not None for result in results) == 1
    assert len(DeviceRegistry(database).list_all()) == 1


def test_no_code_is_on_disk(database: HubDatabase) -> None:
    code = make_pairing(database).make_code()
    database.close()
    for file in database.path.parent.iterdir():
        content = file.read_bytes()
        assert code.encode() not in content
        assert code.replace("-", "").encode() not in content
