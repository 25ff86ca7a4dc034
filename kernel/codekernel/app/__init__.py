"""The composition root: builds the services of one kernel, starts its threads, shuts it down.

Modules:

    kernel.py    the life of a kernel: its threads, its clients, when it ends
    services.py  what it is made of
"""

from codekernel.app.kernel import Kernel

__all__ = ["Kernel"]
