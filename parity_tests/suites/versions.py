"""What a suite runs with."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version


def versions() -> dict[str, str]:
    """Return the versions of this process, by name."""
    found = {name: _version(name) for name in ("constparity", "jax", "jaxlib", "numpy")}
    return {**found, "python": platform.python_version()}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"
