"""A kernel that waits seconds for a chat model, where the real one waits minutes."""

import sys
from functools import partial

from codekernel.cli.commands.serve import run_serve
from codekernel.llm import remote_backend
from codekernel.llm.http_request import ChatTimeouts

# Long enough for a busy machine to answer in, where an answer is meant to come.
FIRST_TOKEN_TIMEOUT_SECONDS = 3.0
IDLE_TIMEOUT_SECONDS = 1.5
RETRY_BACKOFF_SECONDS = (0.01, 0.01)

if __name__ == "__main__":
    remote_backend.ChatTimeouts = partial(  # type: ignore[assignment,attr-defined]
        ChatTimeouts,
        first_token_timeout_seconds=FIRST_TOKEN_TIMEOUT_SECONDS,
        idle_timeout_seconds=IDLE_TIMEOUT_SECONDS,
        retry_backoff_seconds=RETRY_BACKOFF_SECONDS,
    )
    sys.exit(run_serve(None, standalone=True))
