"""API keys. Stored on the settings lane, because checkSettings asks for the key just set."""

from kernel.dispatch.lanes import Lane
from kernel.errors import WrongParam
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
        api_key=message.key if message.key_name is None else _stored_key(message, house),
        cancel=house.stopping,
    )


def _stored_key(message: TestApi, house: House) -> str:
    """The key under ``keyName``, for the address it is used at already and for no other."""
    saved = {
        model.url
        for model in house.settings.current.generation_models
        if model.name == message.key_name
    }
    if message.url not in saved:
        raise WrongParam("The address is not the one that is saved; enter the key again to try it.")
    return house.keys.get(message.key_name or "")
