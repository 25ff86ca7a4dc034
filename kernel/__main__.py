"""``python -m kernel``: the same as the command ``codekernel``."""

import sys

from kernel.cli.main import main

sys.exit(main())
