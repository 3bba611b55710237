"""Ask for the help of `constparity run`, and fail if this imports what is slow to import."""

import contextlib
import io
import sys

from parity_tests import cli

with contextlib.redirect_stdout(io.StringIO()) as out:
    code = cli.main(["run", "--help"])
assert "my_model.py:step" in out.getvalue(), out.getvalue()
heavy = {"jax", "numpy", "scipy", "jinja2", "reports.rows"} & set(sys.modules)
sys.exit(code or ", ".join(heavy) or None)
