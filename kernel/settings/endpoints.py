"""Chat endpoints that a key should not be sent to: over HTTP, anybody on the way can read it."""

from collections.abc import Iterable
from urllib.parse import urlsplit

from kernel.errors import KernelError
from kernel.protocol.settings_file import GenerationModelEntry
from kernel.settings.circumstances import HasKey


def unsafe_endpoints(models: Iterable[GenerationModelEntry], has_key: HasKey) -> list[str]:
    """A warning for each model with a stored key whose address is plain HTTP to another machine."""
    return [
        f'conversationSettings.generationModel[{index}].url: "{model.name}" is asked over http://,'
        " so its API key and your code can be read by anybody on the way to"
        f" {urlsplit(model.url).hostname}. Use https://, or a tunnel to this machine."
        for index, model in enumerate(models)
        if is_plain_http_elsewhere(model.url) and _has(has_key, model.name)
    ]


def is_plain_http_elsewhere(url: str) -> bool:
    """Whether what is sent there leaves this machine without encryption."""
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "").rstrip(".").casefold()
    except ValueError:
        return False
    return parts.scheme.casefold() == "http" and bool(host) and not _is_loopback(host)


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    from ipaddress import ip_address  # noqa: PLC0415 - the start need not wait for it

    try:
        address = ip_address(host.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def _has(has_key: HasKey, name: str) -> bool:
    try:
        return has_key(name)
    except (KernelError, OSError):
        return False  # a vault that cannot be read sends no key either
