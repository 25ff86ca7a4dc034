import pytest
from codekernel.errors import KernelRetired, WrongParam
from codekernel.protocol.messages.kernel import Attach, KernelInfo
from codekernel.runtime.clients import ClientTable
from codekernel.runtime.retirement import Retirement

INFO = KernelInfo(kernel_version="1.10.0", protocol_version="1.0", pid=1)


def make_attach(protocol: str = "1.0", version: str = "", mode: str = "lines") -> Attach:
    return Attach(protocol_version=protocol, client="test", client_version=version, mode=mode)


def make_retirement(began: list[str]) -> Retirement:
    clients = ClientTable(on_empty=lambda: None)
    return Retirement(INFO, None, clients, lambda: began.append("begun"))


@pytest.mark.parametrize(
    "asked",
    [
        make_attach(),
        make_attach(version="1.10.0"),
        make_attach(version="1.9.9"),
        make_attach("1.7", "1.10.0rc1"),
        make_attach(version="unknown"),
        make_attach("9.0", "9.0.0", "control"),
    ],
)
def test_clients_that_are_not_newer_are_served(asked: Attach) -> None:
    began: list[str] = []
    make_retirement(began).check_versions(asked)
    assert began == []


@pytest.mark.parametrize(
    "asked", [make_attach(version="1.11"), make_attach("2.0", "2.0.0"), make_attach("1.1", "10")]
)
def test_a_kernel_retires_once_for_clients_that_are_newer(asked: Attach) -> None:
    began: list[str] = []
    retirement = make_retirement(began)
    assert not retirement.is_begun
    for _ in range(2):
        with pytest.raises(KernelRetired):
            retirement.check_versions(asked)
    assert (retirement.is_begun, began) == (True, ["begun"])


@pytest.mark.parametrize(
    "asked", [make_attach("2.0"), make_attach("0.9", "0.1.0"), make_attach("x")]
)
def test_a_client_of_another_protocol_that_is_not_newer_is_refused(asked: Attach) -> None:
    began: list[str] = []
    with pytest.raises(WrongParam, match="--standalone"):
        make_retirement(began).check_versions(asked)
    assert began == []
