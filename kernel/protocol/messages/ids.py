"""Numbers that name conversations."""

from typing import Annotated

from msgspec import Meta

# The last whole number that a JavaScript front end counts exactly; it names a file too.
LARGEST_ID = 2**53 - 1

ConversationId = Annotated[int, Meta(ge=0, le=LARGEST_ID)]
