"""API keys. Stored on the settings lane, because checkSettings asks for the key just set."""

from kernel.dispatch.lanes import Lane
from kernel.handlers.house import House
from kernel.handlers.routers import main_router
from kernel.protocol.messages.secrets import GetApiKey, GetApiKeyReply, SetApiKey, TestApi


@main_router.handles(SetApiKey, lane=Lane.SETTINGS)
def set_api_key(message: SetApiKey, house: House) -> None:
    """Put a key into the vault."""
    house.keys.set(message.name, message.api_key)


@main_router.handles(GetApiKey, lane=Lane.SETTINGS)
def get_api_key(message: GetApiKey, house: House) -> GetApiKeyReply:
    """Read a key back; the one reply that carries one."""
    return GetApiKeyReply(api_key=house.keys.get(message.name))


@main_router.handles(TestApi, lane=Lane.OWN)
def test_api(message: TestApi, house: House) -> None:
    """Call the endpoint once with what the user typed."""
    house.try_endpoint(
        model_name=message.endpoint_model,
        url=message.url,
        api_key=message.key,
        cancel=house.stopping,
    )
