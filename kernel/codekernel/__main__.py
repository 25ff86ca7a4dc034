"""``python -m codekernel``: the same as the command ``codekernel``."""

import sys

from codekernel.cli.main import (
    install_interrupt_handler,
    main,
)

install_interrupt_handler()  # before anything else is imported

sys.exit(main())
