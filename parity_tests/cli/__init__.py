"""The command line: one file for each command; `app.py` has them all."""

from parity_tests.cli.app import main as main
