"""`python -m parity_tests.cli`: the command line without its entry point."""

import sys

from parity_tests.cli.app import main

sys.exit(main())
