"""The environment variables that make a process one of a side."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import parity_tests
from reports.rows import Side

JAX_FLAG = "JAX_USE_SIMPLIFIED_JAXPR_CONSTANTS"
OUR_FLAG = "CONSTPARITY_USE_SIMPLIFIED_CONSTANTS"


def environment_of(side: Side, inherited: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment that a process of a side starts with.

    Our sides choose per function and run beside stock JAX with its default flag, whatever the user
    has set. The persistent compilation cache is off, for reading it is not compiling. Strings hash
    alike in every process, so a set of them is traced in one order.
    """
    environment = dict(os.environ if inherited is None else inherited)
    environment.pop(OUR_FLAG, None)
    environment[JAX_FLAG] = "1" if side == "jax-simplified" else "0"
    environment["JAX_ENABLE_COMPILATION_CACHE"] = "0"
    environment.setdefault("PYTHONHASHSEED", "0")
    # parity_tests may not be installed, but run from a source tree.
    here = str(Path(parity_tests.__file__).absolute().parent.parent)
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, [here, environment.get("PYTHONPATH")]))
    return environment
