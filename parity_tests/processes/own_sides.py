"""Whether our own sides run under a version of JAX: the engine says so without being imported."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
from pathlib import Path
from types import ModuleType

from reports.rows import Side


def is_own(side: Side) -> bool:
    """Say whether a side is the engine's, and not one of stock JAX."""
    return not side.startswith("jax-")


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
