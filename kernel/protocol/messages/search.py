"""Search and the index behind it."""

from typing import Annotated

from msgspec import Meta

from kernel.protocol.message import Message


class Search(Message, frozen=True, tag="search"):
    """Rank the chunks of the open repository against a query; no limit means the settings' one."""

    query: str
    limit: Annotated[int, Meta(ge=1)] | None = None
    accuracy: bool = False


class GetChunksInfo(Message, frozen=True, tag="getChunksInfo"):
    """List every chunk of the open repository."""


class EmbeddingStatus(Message, frozen=True, tag="embeddingStatus"):
    """Session -> window: how far the indexing of one file is."""

    file_path: str
    status: str
    progress: float
