"""The command line: one file for each command; `app.py` has them all."""

from parity_tests import own_packages

# The working directory or PYTHONPATH may have a `reports` of the user's before ours.
own_packages.open_to_process((*own_packages.TESTER, *own_packages.ENGINE))

from parity_tests.cli.app import main as main  # noqa: E402
