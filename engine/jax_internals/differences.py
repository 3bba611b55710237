"""Where the supported JAX versions differ: a probe of each capability, with the version beside it.

A probe looks for the capability, not for the version number: changes arrive in patch releases, and
pre-releases have them before their number says so. Delete a probe when every supported version has
its capability.
"""

from __future__ import annotations

from typing import Any

from jax._src import config, mesh
from jax._src.export import _export


def holder_of(name: str) -> Any:
    """Return the Config object of a context, which jax 0.11.2 moved from `config` to `mesh`."""
    return getattr(config if hasattr(config, name) else mesh, name)


def is_reference_type(aval: Any) -> bool:
    """Say whether an aval is the type of mutable state; only JAX before 0.11.1 has such avals."""
    return bool(getattr(aval, "has_qdd", False))


def exported_fields() -> dict[str, Any]:
    """Return the fields of an `Exported` that only some versions need.

    Before jax 0.11.1 a flag says that an export has named shardings; since then each has them.
    """
    named = "_has_named_shardings"
    return {named: True} if named in _export.Exported.__dataclass_fields__ else {}
