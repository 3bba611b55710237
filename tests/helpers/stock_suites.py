"""Pytest in a process of its own, with `--constparity=jax-both`, on a suite planted in a folder.

Most of them read the environment variable of the flag, so no process needs to import JAX.
"""

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from reports.rows.suite_runs import SuiteRuns

ROOT = Path(__file__).parents[2]
HEAD = """
import os, signal, time
from pathlib import Path
import pytest
ON_SIMPLIFIED = os.environ.get("JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS") == "1"
IS_CHILD = "JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS" in os.environ
"""


@dataclass(frozen=True)
class Done:
    """A pytest that ended: what it printed, its exit code, and its JSON report if it wrote one."""

    code: int
    printed: str
    result: SuiteRuns | None
    folder: Path

    @property
    def last_line(self):
        """The counts of pytest: "1 failed, 2 passed"."""
        return re.sub(r" in [\d.]+s.*", "", self.printed.strip().splitlines()[-1]).strip("= ")


def environment():
    """The environment of a pytest that loads the plugins of its command line alone."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH", "")]))
    return {**kept, "PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


def asked(*arguments):
    """The options of a pytest that compares both sides."""
    return [
        *("-p", "parity_tests.suites.plugin"),
        *("--constparity=jax-both", "--constparity-report=json:suite.json", *arguments),
    ]


def command(*arguments):
    return [sys.executable, "-m", "pytest", *asked(*arguments)]
