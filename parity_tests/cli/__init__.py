"""The command line: one file for each command; `app.py` has them all."""

import sys

from parity_tests import own_packages

# The working directory or PYTHONPATH may have a `reports` of the user's before ours.
try:
    own_packages.check_installed()
    own_packages.open_to_process((*own_packages.TESTER, *own_packages.ENGINE))
except own_packages.CollisionError as error:
    print(f"constparity: {error}", file=sys.stderr)
    raise SystemExit(4) from error  # Exit.USAGE, which may have no package to come from

from parity_tests.cli.app import main as main
