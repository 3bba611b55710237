"""The environment row: what the numbers of a campaign were measured with."""

from __future__ import annotations

import functools
import importlib.metadata
import json
import os
import platform
from pathlib import Path

from reports.rows import Environment, MeasuredWith

FLAG = "jax_use_simplified_jaxpr_constants"


def describe() -> Environment:
    """Describe this process's Python, packages and devices; it initializes JAX's backend."""
    import jax
    import numpy

    devices = jax.devices()
    return Environment(
        constparity=version(),
        python=platform.python_version(),
        jax=jax.__version__,
        jaxlib=importlib.metadata.version("jaxlib"),
        numpy=numpy.__version__,
        backend=jax.default_backend(),
        device_kind=devices[0].device_kind,
        device_count=len(devices),
        cpu_count=os.cpu_count() or 1,
        system=f"{platform.system()} {platform.machine()}",
        cpu=_cpu(),
    )


def has_flag() -> bool:
    """Say whether the JAX of this process has the flag that chooses a mode."""
    import jax

    return hasattr(jax.config, FLAG)


@functools.cache
def measured_with() -> MeasuredWith:
    """Say what this process measures with; it initializes JAX's backend."""
    import jax

    return MeasuredWith(
        python=platform.python_version(),
        jax=jax.__version__,
        jaxlib=importlib.metadata.version("jaxlib"),
        backend=jax.default_backend(),
    )


def _cpu() -> str:
    """Return the name of the CPU's model; "" where the system does not tell it."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
    except OSError:  # no Linux
        return platform.processor()
    names = (line.partition(":") for line in lines)
    return next((name.strip() for key, _, name in names if key.strip() == "model name"), "")


def version() -> str:
    """Return the version of constparity, or "unknown" where it runs from an unpacked tree.

    Where pip or uv installed a commit, which they keep in `direct_url.json` (PEP 610), it is named.

    Example::

        version() == "0.1.0+0123456789ab"
    """
    try:
        installed = importlib.metadata.distribution("constparity")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"
    direct = json.loads(installed.read_text("direct_url.json") or "{}")
    commit = direct.get("vcs_info", {}).get("commit_id", "")[:12]
    return f"{installed.version}+{commit}" if commit else installed.version
