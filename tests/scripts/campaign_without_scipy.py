"""Run a campaign that judges no times, and fail if its process imports SciPy or JAX."""

import contextlib
import io
import sys

from parity_tests import cli

with contextlib.redirect_stdout(io.StringIO()) as out:
    code = cli.main(["run", *sys.argv[1:], "--sides", "legacy,jax-legacy"])
assert "parity" in out.getvalue(), out.getvalue()
heavy = {"jax", "scipy"} & set(sys.modules)
sys.exit(code or ", ".join(sorted(heavy)) or None)
