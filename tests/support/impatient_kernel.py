"""A kernel that waits for a chat model for a moment only, where the real one waits for minutes."""

import sys
from functools import partial

from codekernel.cli.commands.serve import run_serve
from codekernel.llm import backends
from codekernel.llm.retry import ChatTimeouts

# Long enough for a busy machine to answer in, where an answer is meant to come.
FIRST_PIECE_SECONDS = 3.0
BETWEEN_PIECES_SECONDS = 1.5
RETRY_WAITS = (0.01, 0.01)

if __name__ == "__main__":
    backends.ChatTimeouts = partial(  # type: ignore[misc,assignment]
        ChatTimeouts,
        first_token_timeout_seconds=FIRST_PIECE_SECONDS,
        idle_timeout_seconds=BETWEEN_PIECES_SECONDS,
        retry_backoff_seconds=RETRY_WAITS,
    )
    sys.exit(run_serve(None))
