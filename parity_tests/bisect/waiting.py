"""Begin to switch when a process of the command imports JAX; until then it is as without us."""

from __future__ import annotations

import atexit
import os
import sys
from pathlib import Path

from parity_tests import own_packages
from parity_tests.bisect import children, sites
from parity_tests.in_place_of_jax import after_import


def wait_for_jax(folder: Path) -> None:
    """Have the switch put in place as soon as something in this process imports JAX."""
    sites.tell(folder, "python", os.getpid())
    sites.name_files_as_in(folder)
    children.watch(folder)
    atexit.register(sites.tell_loaded, folder)
    after_import("engine", lambda: _begin(folder))
    after_import("jax", lambda: _begin_unless_by_engine(folder))


def _begin_unless_by_engine(folder: Path) -> None:
    """Begin, unless it is our engine that imports JAX: it is not complete before it ends."""
    engine = own_packages.imported("engine")
    if not getattr(getattr(engine, "__spec__", None), "_initializing", False):
        _begin(folder)


def _begin(folder: Path) -> None:
    try:
        own_packages.open_to_process(own_packages.ENGINE)
        own_packages.guard_imports(always=True)
        from parity_tests.bisect import switch
    except ImportError as error:  # of a JAX that the engine does not know, or a collision
        sites.tell(folder, "jax", {"version": _version(), "error": str(error)})
        return
    if switch.begin(folder):
        sites.tell(folder, "jax", {"version": _version(), "error": ""})


def _version() -> str:
    return str(getattr(sys.modules.get("jax"), "__version__", ""))
