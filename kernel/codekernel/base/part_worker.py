"""The child process that builds parts: jobs on stdin, what became of them on stdout."""

import os
import pickle
import sys

from codekernel.base.part_building import PartJob, PartWorker
from codekernel.domain.child_process import open_reply_stream
from codekernel.errors import KernelError


def main() -> None:
    """Build parts until none come."""
    replies = open_reply_stream()
    worker = PartWorker(dict(os.environ))
    while True:
        try:
            job: PartJob = pickle.load(sys.stdin.buffer)  # noqa: S301 - of the process that started us
        except EOFError:
            break
        try:
            reply: object = worker.build(job)
        except (KernelError, OSError, ValueError) as error:
            reply = f"{error}" or type(error).__name__
        pickle.dump(reply, replies)
        replies.flush()
    worker.close()


if __name__ == "__main__":
    main()
