"""Endpoints of chat models: servers of this machine, their models, and whether one answers."""

from codekernel.dispatch.routing import Lane
from codekernel.errors import WrongParam
from codekernel.handlers.context import Services, main_router
from codekernel.llm import model_list
from codekernel.protocol.envelope import convert_values
from codekernel.protocol.messages import settings as messages


@main_router.handles(messages.TestApi, lane=Lane.OWN_THREAD)
def test_api(message: messages.TestApi, services: Services) -> None:
    """Call the endpoint once with the given key."""
    model_list.probe_endpoint(
        model_name=message.endpoint_model,
        url=message.url,
        api_key=message.key if message.key_name is None else _read_stored_key(message, services),
        cancel=services.stopping,
    )


@main_router.handles(messages.ListEndpointModels, lane=Lane.OWN_THREAD)
def list_endpoint_models(
    message: messages.ListEndpointModels, services: Services
) -> messages.ListEndpointModelsReply:
    """Ask the endpoint for its models."""
    key = message.api if message.key_name is None else _read_stored_key(message, services)
    models = model_list.list_models(message.url, key, services.stopping)
    return messages.ListEndpointModelsReply(
        models=convert_values(models, list[messages.EndpointModelEntry])
    )


@main_router.handles(messages.FindLocalServers, lane=Lane.OWN_THREAD)
def find_local_servers(
    message: messages.FindLocalServers, services: Services
) -> messages.FindLocalServersReply:
    """Ask the usual ports of this machine."""
    servers = convert_values(
        model_list.find_local_servers(services.stopping), list[messages.LocalServerEntry]
    )
    return messages.FindLocalServersReply(servers=servers)


def _read_stored_key(
    message: messages.TestApi | messages.ListEndpointModels, services: Services
) -> str:
    """Return the key under ``keyName``, only for the address it is already used at."""
    saved = {
        model.url
        for model in services.settings.current.generation_models
        if model.name == message.key_name
    }
    if message.url not in saved:
        raise WrongParam("The address is not the one that is saved; enter the key again to try it.")
    return services.keys.get(message.key_name or "")
