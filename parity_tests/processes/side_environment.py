"""What makes a process one of a side: its environment variables, and the packages it may import."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from parity_tests import own_packages
from parity_tests.own_packages import ENGINE, TESTER

if TYPE_CHECKING:
    from reports.rows import Side

JAX_FLAG = "JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS"
OUR_FLAG = "CONSTPARITY_USE_SIMPLIFIED_CONSTANTS"
JAX_CACHE = "JAX_ENABLE_COMPILATION_CACHE"
CACHE_OFF = "CONSTPARITY_COMPILATION_CACHE_OFF"  # set where the user has turned the cache off
_FALSE = ("0", "f", "false", "n", "no", "off")  # as JAX reads it

FOLDER = Path(own_packages.FOLDER)
# The file of a process of a side makes our packages known under any name but "__main__".
_RUN_BOTH = (
    "import runpy, sys; runpy.run_path(sys.argv[2]); "
    "runpy.run_path(sys.argv[3], run_name='__main__')"
)


def environment_of(side: Side, inherited: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment that a process of a side starts with.

    Our sides choose per function and run beside stock JAX with its default flag, whatever the user
    has set. The persistent compilation cache is off, for reading it is not compiling; where the
    user has turned it off, that is handed on. Strings hash alike in every process, so a set of them
    is traced in one order.
    """
    environment = dict(os.environ if inherited is None else inherited)
    environment.pop(OUR_FLAG, None)
    environment[JAX_FLAG] = "1" if side == "jax-simplified" else "0"
    if environment.get(JAX_CACHE, "1").lower() in _FALSE:
        environment[CACHE_OFF] = "1"
    environment[JAX_CACHE] = "0"
    environment.setdefault("PYTHONHASHSEED", "0")
    return environment


def with_our_packages(environment: Mapping[str, str]) -> dict[str, str]:
    """Return an environment whose processes find our packages; a source tree is not installed."""
    path = os.pathsep.join(filter(None, [str(FOLDER), environment.get("PYTHONPATH")]))
    return {**environment, "PYTHONPATH": path}


def with_packages(file: Path) -> list[str]:
    """Return the arguments of a Python that run a file and find all our packages there.

    It finds nothing else of what lies beside them, as in a process of a side.
    """
    entry = FOLDER / "parity_tests" / "worker" / "entry.py"
    return ["-c", _RUN_BOTH, ",".join((*TESTER, *ENGINE)), str(entry), str(file)]


def packages_of(side: Side) -> tuple[str, ...]:
    """Return those of our packages that a process of a side may import.

    Stock JAX has to run as if the engine did not exist.
    """
    return TESTER if side.startswith("jax-") else (*TESTER, *ENGINE)
