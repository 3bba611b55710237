"""What JAX is set to when a module is imported: before JAX has started, or afterwards.

A program that runs by itself sets `XLA_FLAGS`, a variable `JAX_*` or the number of devices before
JAX has started. The tester starts JAX first, and then some of it comes too late.
"""

from __future__ import annotations

import os

from parity_tests import targets
from parity_tests.evidence.found import SettingsFound

# They say where JAX writes or what it tells, and nothing of a result.
_ASIDE = ("log", "debug", "cache", "traceback", "pprint", "dump", "enable_compilation_cache")


def settings(target: str, *, jax_first: bool) -> SettingsFound:
    """Import a target, and return what JAX is set to then; with `jax_first` JAX starts before.

    To be called in a process that has not imported JAX.
    """
    if jax_first:
        _start()
    before = dict(os.environ)
    raised = ""
    try:
        targets.load_one(target)
    except targets.TargetError as error:
        raised = str(error)
    set_by_import = {
        name: value
        for name, value in os.environ.items()
        if before.get(name) != value and name.startswith(("XLA_FLAGS", "LIBTPU_", "JAX_"))
    }
    devices = _start()
    import jax

    return SettingsFound(
        devices=devices,
        settings={
            name: repr(value)
            for name, value in jax.config.values.items()
            if not any(part in name for part in _ASIDE)
        },
        variables=set_by_import,
        raised=raised,
    )


def _start() -> int:
    import jax

    return jax.device_count()
