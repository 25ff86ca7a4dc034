"""A connection of a command to its kernel.

Imports little: beside a running kernel a search has a tenth of a second for everything.
"""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from codekernel.cli.kernel_finder import KernelFinder
from codekernel.client.connection import KernelConnection
from codekernel.storage.user_data import UserData

if TYPE_CHECKING:
    import argparse


@contextmanager
def open_kernel(
    args: "argparse.Namespace", user_data: UserData, client: str
) -> Iterator[KernelConnection]:
    """Attach a command to the kernel. Raises KernelError."""
    with (
        closing(KernelFinder(user_data.root, standalone=args.standalone)) as finder,
        KernelConnection.open(user_data.root, client, connect=finder.connect) as kernel,
    ):
        yield kernel
