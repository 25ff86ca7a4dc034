"""``python -m kernel``: the same as the command ``codekernel``."""

from kernel.interrupt import end_on_interrupt

end_on_interrupt()  # before anything else is imported

import sys  # noqa: E402

from kernel.cli.main import main  # noqa: E402

sys.exit(main())
