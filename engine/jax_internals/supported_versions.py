"""The JAX versions that the engine was run against; checked before a private name is imported."""

from __future__ import annotations

import jax

_FIRST, _LIMIT = (0, 10, 2), (0, 13)


def require_supported_version() -> None:
    """Raise ImportError, with the supported range, for a JAX that the engine was not run against.

    The upper bound is an error and not a warning. When JAX 0.11 merged ClosedJaxpr into Jaxpr, the
    comparison of programs took different programs for equal: the results were wrong, in silence.
    """
    if not _FIRST <= jax.__version_info__ < _LIMIT:
        raise ImportError(
            f"constparity reads JAX internals of 0.10.2 <= jax < 0.13 and found jax "
            f"{jax.__version__}; install a supported one: pip install 'jax>=0.10.2,<0.13'"
        )
