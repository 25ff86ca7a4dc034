"""API keys: stored, read back, tried out. Only ``GetApiKeyReply`` ever carries a key outwards."""

from kernel.protocol.message import Data, Message


class SetApiKey(Message, frozen=True, tag="setApiKey"):
    """Store the key of a generation model under the model's name; an empty key forgets it."""

    name: str
    api_key: str


class GetApiKey(Message, frozen=True, tag="getApiKey"):
    """Read a stored key."""

    name: str


class GetApiKeyReply(Data, frozen=True):
    """The key."""

    api_key: str


class TestApi(Message, frozen=True, tag="testApi"):
    """Try a key, url and model name before they are saved; older clients say name and apiKey.

    ``keyName``, an addition: the key that is stored under this name, for pages that get no key.
    """

    __test__ = False  # not a test case, whatever pytest thinks of its name

    url: str
    model_name: str | None = None
    api: str | None = None
    name: str | None = None
    api_key: str | None = None
    key_name: str | None = None

    def __post_init__(self) -> None:
        if self.model_name is None and self.name is None:
            raise ValueError("Object missing required field `modelName`")
        if self.api is None and self.api_key is None and self.key_name is None:
            raise ValueError("Object missing required field `api`")

    @property
    def endpoint_model(self) -> str:
        """The model as the endpoint knows it, whichever field it came in."""
        return self.model_name or self.name or ""

    @property
    def key(self) -> str:
        """The key, whichever field it came in."""
        return self.api or self.api_key or ""
