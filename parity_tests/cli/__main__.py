"""`python -m parity_tests.cli`: the command line without its entry point."""

import sys

from parity_tests import own_packages

own_packages.open_to_process((*own_packages.TESTER, *own_packages.ENGINE))

from parity_tests.cli.app import main  # noqa: E402 - a folder that it starts in may have `reports`

sys.exit(main())
