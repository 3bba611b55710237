"""Where the supported JAX versions differ: each a probe of a capability, the version beside it.

A probe asks the installed JAX what it has and not which version it is: a change arrives in a patch
release, and a pre-release has it before its number says so. When the last version without a
capability is no longer supported, its probe goes.
"""

from __future__ import annotations

from typing import Any

import jax
from jax._src import config, mesh
from jax._src.export import _export

_FIRST, _LIMIT = (0, 10, 2), (0, 11)


def require_supported_version() -> None:
    """Raise ImportError for a JAX that the engine has not been run against, naming those it has.

    The upper bound is an error and not a warning: on JAX 0.11, which merged ClosedJaxpr into Jaxpr,
    the comparison of programs would take two different ones for equal, and answer wrongly.
    """
    if not _FIRST <= jax.__version_info__ < _LIMIT:
        raise ImportError(
            f"constparity reads JAX internals of 0.10.2 <= jax < 0.11 and found jax "
            f"{jax.__version__}; install a supported one: pip install 'jax>=0.10.2,<0.11'"
        )


def holder_of(name: str) -> Any:
    """The Config object of a context that JAX moved from `config` to `mesh` (jax 0.11.2)."""
    return getattr(config if hasattr(config, name) else mesh, name)


def is_reference_type(aval: Any) -> bool:
    """Whether an aval is the type of mutable state: only until jax 0.11.1 are there such avals."""
    return bool(getattr(aval, "has_qdd", False))


def exported_fields() -> dict[str, Any]:
    """The fields that an `Exported` needs beside those of all versions.

    Until jax 0.11.1 a flag said that it has named shardings; from then on it always has.
    """
    named = "_has_named_shardings"
    return {named: True} if named in _export.Exported.__dataclass_fields__ else {}
