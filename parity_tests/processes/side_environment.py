"""What makes a process one of a side: its environment variables, and the packages it may import."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import os
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
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
    user has turned it off, that is handed on.
    """
    environment = with_flag(os.environ if inherited is None else inherited, side)
    if environment.get(JAX_CACHE, "1").lower() in _FALSE:
        environment[CACHE_OFF] = "1"
    environment[JAX_CACHE] = "0"
    return environment


def with_flag(inherited: Mapping[str, str], side: Side) -> dict[str, str]:
    """Return an environment with JAX's flag as a side has it, and without ours.

    Strings hash alike in every process, so a set of them is in one order on all sides.
    """
    environment = {"PYTHONHASHSEED": "0", **inherited}
    environment.pop(OUR_FLAG, None)
    return {**environment, JAX_FLAG: "1" if side == "jax-simplified" else "0"}


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


# -- our own sides: whether they run under a version of JAX ----------------------------------------


def refusal_of(jax_version: str) -> str | None:
    """Say why the engine refuses a version of JAX, and what works there; None where it runs.

    Example::

        refusal_of("0.10.2") is None
    """
    refusal: str | None = _supported_versions().refusal(jax_version)
    return refusal


def known_range() -> tuple[str, str]:
    """Return the first version of JAX that the engine takes, and the first that it refuses again.

    Example::

        known_range() == ("0.10.2", "0.13")
    """
    return _supported_versions().FIRST, _supported_versions().LIMIT


def refusal_here() -> str | None:
    """Say why the engine refuses the JAX that is installed here; None where it runs."""
    try:
        return refusal_of(importlib.metadata.version("jax"))
    except importlib.metadata.PackageNotFoundError:  # a JAX that was not installed, or none
        return None


def engine_file(name: str) -> Path:
    """Return a file of the engine by its path there; the engine itself is not imported."""
    found = importlib.util.find_spec("engine")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent / name


@functools.cache
def _supported_versions() -> ModuleType:
    # Not `from engine.jax_internals`: a JAX that the engine refuses would raise then.
    file = engine_file("jax_internals/supported_versions.py")
    spec = importlib.util.spec_from_file_location("supported_versions", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
