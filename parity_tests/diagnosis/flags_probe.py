"""Print how the flags stand in a process of the user, as JSON; this is run as a file.

No worker can tell: each side has the flags in its environment that make it a side.
"""

from __future__ import annotations

import json

FLAG = "jax_use_simplified_jaxpr_constants"


def flags() -> dict[str, object]:
    """Return the version of JAX, and the flags; None for one that this process lacks."""
    import jax

    jax.devices()  # raises where no backend starts, and names the platform
    told: dict[str, object] = {
        "jax": jax.__version__,
        "jax_flag": getattr(jax.config, FLAG, None),
        "engine_flag": None,
    }
    try:
        import engine
    except (ImportError, ValueError) as error:  # an unknown JAX; a variable with a wrong value
        return told | {"engine_error": str(error)}
    return told | {"engine_flag": engine.config.use_simplified_constants}


if __name__ == "__main__":
    print(json.dumps(flags()))
