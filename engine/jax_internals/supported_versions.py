"""The JAX versions that the engine was run against; checked before a private name is imported."""

from __future__ import annotations

import jax

_FIRST, _LIMIT = (0, 10, 2), (0, 11)


def require_supported_version() -> None:
    """Raise ImportError, with the supported range, for a JAX that the engine was not run against.

    The upper bound is an error and not a warning: JAX 0.11 merged ClosedJaxpr into Jaxpr, and the
    comparison of programs would take different programs for equal, and so return wrong results.
    """
    if not _FIRST <= jax.__version_info__ < _LIMIT:
        raise ImportError(
            f"constparity reads JAX internals of 0.10.2 <= jax < 0.11 and found jax "
            f"{jax.__version__}; install a supported one: pip install 'jax>=0.10.2,<0.11'"
        )
